// What reservations lost with nodes and have not got back. A row stands for the slice of one
// reservation on one lost node; it goes when the slice is replaced or the reservation is over.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "method/context.h"
#include "modules/capacity/node_row.h"
#include "modules/capacity/reservation.h"

namespace compute::capacity {

// How long before its start a reservation that lost a node is looked at; what is lost earlier may
// come back by then.
inline constexpr EpochMs kHealAheadMs = 3'600'000;

struct Loss {
    TenantId tenant_id;
    ReservationId reservation_id;
    NodeId node_id;
    std::int64_t gpus = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    EpochMs lost_at = 0;
    EpochMs due_at = 0;
};

// The node is gone: ends all that is booked on it and notes what reservations lost. Call it in the
// transaction that makes the node lost (or removes it by force), after the node's row is written;
// the healer is woken by the commit. Marks nothing: the caller changes the node itself.
void lose_node(const method::Context& context, store::Transaction& tx, const NodeId& node);

// The same for what begins only after `from`, on a node that is being drained.
void lose_future_of_node(
    const method::Context& context, store::Transaction& tx, const NodeId& node, EpochMs from
);

[[nodiscard]] std::vector<Loss> losses_of(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& reservation
);
void remove_loss(store::Transaction& tx, const Loss& loss);
void remove_losses(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& reservation
);

// Reservations with a loss that is due, whosever they are, by due time.
struct DueLoss {
    TenantId tenant_id;
    ReservationId reservation_id;
};
[[nodiscard]] std::vector<DueLoss> due_losses(store::Transaction& tx, EpochMs now, int limit);
[[nodiscard]] std::optional<EpochMs> first_loss_after(store::Transaction& tx, EpochMs now);

}  // namespace compute::capacity
