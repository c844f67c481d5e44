// How a reservation gets its place, in two steps that fit around a transaction.
//
// decide() chooses in memory, where no transaction is open, and holds what it chose, so that the
// next decision of this process goes elsewhere. book() runs inside the transaction that changes the
// reservation: each node is marked if it is still as it was when the choice was made; if it has
// changed, the chosen atoms are looked at again in the database, whose rows are the truth. What
// another placement has taken meanwhile is left out and the choice is made again, at most five
// times.
//
// A hold ends with the commit (then the index counts the bookings) or with its last owner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "modules/capacity/live_placement.h"
#include "modules/capacity/reservation.h"
#include "modules/capacity/reservation_rows.h"

namespace compute::capacity {

using SharedPlacement = std::shared_ptr<LivePlacement>;

// The window [starts_at, ends_at) of a claim, and until when it keeps its atoms.
struct Window {
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
    EpochMs booked_until = 0;
};
// Where `request` would lie if it were placed at `now`: at the start it names, if that is not over.
[[nodiscard]] Window window_of(
    const ReservationRequest& request, const PoolSettings& pool, EpochMs now
);

[[nodiscard]] PlacementRequest placement_request(
    const ReservationRequest& request, const PoolSettings& pool, const Window& window
);

// What was chosen, held in memory. Owned by one call at a time.
class Decision {
public:
    Decision(SharedPlacement placement, HoldResult held, Window window);
    ~Decision();  // drops the hold, unless it was committed
    Decision(const Decision&) = delete;
    Decision& operator=(const Decision&) = delete;

    [[nodiscard]] const Window& window() const { return window_; }
    [[nodiscard]] const std::optional<Placement>& placement() const {
        return held_.result.placement;
    }
    [[nodiscard]] const std::optional<Explanation>& explanation() const {
        return held_.result.explanation;
    }
    // After the commit: each node with the version that the transaction left it at.
    void commit(const std::vector<NodeStamp>& stamps);

private:
    SharedPlacement placement_;
    HoldResult held_;
    Window window_;
};
using SharedDecision = std::shared_ptr<Decision>;

// Reads memory only.
[[nodiscard]] SharedDecision decide(
    const SharedPlacement& placement,
    const PoolId& pool,
    const PlacementRequest& request,
    const Window& window,
    EpochMs now
);

// Who books.
struct BookFor {
    TenantId tenant_id;       // the holder's
    TenantId pool_tenant_id;  // the nodes'
    PoolId pool_id;
    std::string holder_id;
};

struct Booked {
    SharedDecision decision;        // the one that was booked, or the last that found no room
    std::vector<Booking> bookings;  // by node; empty: there is no room
};

// Books what `decision` chose, or what can be had instead. The hold is committed after the
// transaction.
[[nodiscard]] Booked book(
    const method::Context& context,
    store::Transaction& tx,
    const SharedPlacement& placement,
    SharedDecision decision,
    PlacementRequest request,
    const BookFor& who
);

}  // namespace compute::capacity
