// What reservations ask of quotas.
#pragma once

#include "modules/capacity/placing.h"
#include "modules/capacity/quota.h"
#include "modules/capacity/reservation.h"

namespace compute::capacity {

// Waiting: the whole amount of each model that it may get.
[[nodiscard]] QuotaRequest quota_of_pending(const Reservation& reservation);
// Placed: what was chosen, in its window.
[[nodiscard]] QuotaRequest quota_of_placement(
    store::Transaction& tx,
    const Reservation& reservation,
    const Window& window,
    const Placement& placement
);
// Kept for longer, from its end to `ends_at`.
[[nodiscard]] QuotaRequest quota_of_extend(
    store::Transaction& tx,
    const Reservation& reservation,
    const std::vector<Booking>& held,
    EpochMs ends_at
);

}  // namespace compute::capacity
