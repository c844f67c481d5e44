// GPU time spent per tenant and day, and the budgets judged by it. Who books capacity records what
// it spends, in the transaction of the booking; until somebody does, everything spent is 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/ids.h"
#include "store/database.h"

namespace compute::iam {

// Half-open, epoch milliseconds.
struct SpendWindow {
    EpochMs from = 0;
    EpochMs until = 0;
};
// The UTC day or calendar month that `now` is in. `window` is "day" or "month".
[[nodiscard]] SpendWindow spend_window(std::string_view window, EpochMs now);

// Adds to what the tenant spent on the UTC day of `at`; negative gives back.
void add_usage(
    store::Transaction& tx, const TenantId& tenant_id, EpochMs at, std::int64_t gpu_milliseconds
);
// What the tenant spent on the days of the window.
[[nodiscard]] std::int64_t usage_gpu_milliseconds(
    store::Transaction& tx, const TenantId& tenant_id, const SpendWindow& window
);

// The first enforced budget of the tenant, by name, that `gpu_hours` more would exceed; nullopt
// when all hold. A budget is met exactly at its limit, exceeded above it.
[[nodiscard]] std::optional<std::string> find_exceeded_budget(
    store::Transaction& tx, const TenantId& tenant_id, EpochMs now, double gpu_hours
);

}  // namespace compute::iam
