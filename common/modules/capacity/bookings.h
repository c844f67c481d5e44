// Bookings: the only record that capacity is held. A booking is an atom (one GPU) or a share of a
// node, for a half-open window [startsAt, endsAt), by a holder: a reservation, or a workload. The
// pause for cleaning up behind a claim is part of its window, so what begins where another ends
// never meets its processes.
//
// A booking with a parent lies inside a reservation's and uses no capacity of its own. Ended
// bookings stay as rows; a booking that never began is removed when it is given back.
//
// Who changes bookings marks the nodes they lie on as changed (node_row.h) in the same transaction:
// the indexes of all processes catch up by that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "modules/capacity/node_row.h"
#include "modules/capacity/pool.h"
#include "store/database.h"

namespace compute::capacity {

inline constexpr const char* kBookingPrefix = "bkg_";
inline constexpr std::int64_t kWholeGpu = 1000;  // milli

struct Booking {
    std::string id;
    TenantId tenant_id;  // the holder's; the node may be another tenant's, who shares the pool
    PoolId pool_id;
    NodeId node_id;
    std::optional<std::string> gpu_uuid;
    std::int64_t milli = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
    std::string holder_type;
    std::string holder_id;
    std::optional<std::string> parent_id;
};

// Rows that break the check of the window are a defect.
void insert_bookings(store::Transaction& tx, const std::vector<Booking>& bookings);

// The holder's bookings that reach beyond `after`, by node and atom.
[[nodiscard]] std::vector<Booking> bookings_of(
    store::Transaction& tx, const TenantId& tenant, const std::string& holder_id, EpochMs after
);

// Ends at `at` what the holder has under way then, and removes what begins at or after it.
void close_bookings(
    store::Transaction& tx, const TenantId& tenant, const std::string& holder_id, EpochMs at
);

// Moves the end of the holder's bookings that end at `from` to `to`. Returns how many.
std::int64_t move_bookings_end(
    store::Transaction& tx,
    const TenantId& tenant,
    const std::string& holder_id,
    EpochMs from,
    EpochMs to
);

// What follows is found by the node: the caller has checked that the node is its tenant's, the
// bookings on it may be any tenant's.

// Bookings on the node that reach beyond `after`, by start.
[[nodiscard]] std::vector<Booking> bookings_on(
    store::Transaction& tx, const NodeId& node, EpochMs after
);
// Of them, those that meet [from, to).
[[nodiscard]] std::vector<Booking> bookings_within(
    store::Transaction& tx, const NodeId& node, EpochMs from, EpochMs to
);
[[nodiscard]] std::int64_t count_bookings_on(
    store::Transaction& tx, const NodeId& node, EpochMs after
);
// Ends at `at` what is under way on the node and removes what begins at or after it.
void close_bookings_on(store::Transaction& tx, const NodeId& node, EpochMs at);
// Removes what begins after `after`.
void remove_future_bookings_on(store::Transaction& tx, const NodeId& node, EpochMs after);

struct Holder {
    TenantId tenant_id;
    std::string type;
    std::string id;
    friend auto operator<=>(const Holder&, const Holder&) = default;
};
// Who holds something on the node (or on one of its GPUs) beyond `after`, by tenant and id.
[[nodiscard]] std::vector<Holder> holders_on(
    store::Transaction& tx,
    const NodeId& node,
    EpochMs after,
    const std::optional<std::string>& gpu_uuid = std::nullopt
);

}  // namespace compute::capacity
