#include "modules/capacity/losses.h"

#include <algorithm>
#include <map>

#include "modules/capacity/bookings.h"
#include "modules/capacity/reservation_changes.h"

namespace compute::capacity {
namespace {

constexpr store::Sql kInsert(
    "insert into reservation_losses (reservation_id, tenant_id, node_id, gpus, cpu_milli, "
    "memory_mib, lost_at, due_at) values ($1, $2, $3, $4, $5, $6, $7, $8) "
    "on conflict (reservation_id, node_id, lost_at) do update set gpus = reservation_losses.gpus + "
    "excluded.gpus, cpu_milli = reservation_losses.cpu_milli + excluded.cpu_milli, memory_mib = "
    "reservation_losses.memory_mib + excluded.memory_mib"
);
constexpr store::Sql kSelect(
    "select node_id, gpus, cpu_milli, memory_mib, lost_at, due_at from reservation_losses "
    "where tenant_id = $1 and reservation_id = $2 order by lost_at, node_id"
);
constexpr store::Sql kRemoveOne(
    "delete from reservation_losses where tenant_id = $1 and reservation_id = $2 and node_id = $3 "
    "and lost_at = $4"
);
constexpr store::Sql kRemoveAll(
    "delete from reservation_losses where tenant_id = $1 and reservation_id = $2"
);
constexpr store::Sql kDue(
    "select tenant_id, reservation_id from reservation_losses where due_at <= $1 "
    "group by tenant_id, reservation_id order by min(due_at), reservation_id limit $2"
);
constexpr store::Sql kNext("select min(due_at) from reservation_losses where due_at > $1");

void note_losses(
    const method::Context& context,
    store::Transaction& tx,
    const NodeId& node,
    const std::vector<Booking>& bookings
) {
    const EpochMs now = context.now();
    std::map<std::string, Loss> losses;
    for (const Booking& booking : bookings) {
        if (booking.parent_id || booking.holder_type != kReservationType) {
            continue;
        }
        Loss& loss = losses[booking.holder_id];
        loss.tenant_id = booking.tenant_id;
        loss.gpus += booking.gpu_uuid ? 1 : 0;
        loss.cpu_milli += booking.cpu_milli;
        loss.memory_mib += booking.memory_mib;
        loss.due_at = std::max(now, booking.starts_at - kHealAheadMs);
    }
    for (const auto& [holder, loss] : losses) {
        tx.defer(
            kInsert,
            {holder,
             loss.tenant_id,
             node,
             loss.gpus,
             loss.cpu_milli,
             loss.memory_mib,
             now,
             loss.due_at}
        );
    }
    if (!losses.empty()) {
        wake_after_commit(context, tx, kPlacerChannel);
    }
}

}  // namespace

// The reservations' own rows are not touched here: whoever extends or releases one holds its row
// and waits for its nodes, so taking them in the other order would be a deadlock.
void lose_node(const method::Context& context, store::Transaction& tx, const NodeId& node) {
    const EpochMs now = context.now();
    note_losses(context, tx, node, bookings_on(tx, node, now));
    close_bookings_on(tx, node, now);
}

void lose_future_of_node(
    const method::Context& context, store::Transaction& tx, const NodeId& node, EpochMs from
) {
    std::vector<Booking> future = bookings_on(tx, node, from);
    std::erase_if(future, [&](const Booking& booking) { return booking.starts_at <= from; });
    note_losses(context, tx, node, future);
    remove_future_bookings_on(tx, node, from);
}

std::vector<Loss> losses_of(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& reservation
) {
    std::vector<Loss> losses;
    for (const store::Row& row : tx.query(kSelect, {tenant, reservation})) {
        losses.push_back(
            {.tenant_id = tenant,
             .reservation_id = reservation,
             .node_id = NodeId(row.get_text(0)),
             .gpus = row.get_int(1),
             .cpu_milli = row.get_int(2),
             .memory_mib = row.get_int(3),
             .lost_at = row.get_int(4),
             .due_at = row.get_int(5)}
        );
    }
    return losses;
}

void remove_loss(store::Transaction& tx, const Loss& loss) {
    tx.defer(kRemoveOne, {loss.tenant_id, loss.reservation_id, loss.node_id, loss.lost_at});
}

void remove_losses(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& reservation
) {
    tx.defer(kRemoveAll, {tenant, reservation});
}

std::vector<DueLoss> due_losses(store::Transaction& tx, EpochMs now, int limit) {
    std::vector<DueLoss> due;
    for (const store::Row& row : tx.query(kDue, {now, limit})) {
        due.push_back(
            {.tenant_id = TenantId(row.get_text(0)),
             .reservation_id = ReservationId(row.get_text(1))}
        );
    }
    return due;
}

std::optional<EpochMs> first_loss_after(store::Transaction& tx, EpochMs now) {
    return tx.get_row(kNext, {now}).find_int(0);
}

}  // namespace compute::capacity
