// The deliveries of a tenant as rows: reading them newest first, putting one back into the queue,
// deleting them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modules/events/model.h"

namespace compute::events {

// Rows that one transaction deletes at most.
inline constexpr int kPruneRows = 5'000;

// A place in a history: larger is newer.
struct HistoryPlace {
    std::int64_t event = 0;
    std::int64_t webhook = 0;
};

struct HistoryQuery {
    TenantId tenant_id;
    std::optional<std::string> webhook_id;
    std::optional<DeliveryState> state;
    std::optional<HistoryPlace> before;
    int limit = 50;
};

// Newest first by the order of queueing. NOT_FOUND when webhook_id is none of the tenant's. Costs
// an index range per webhook.
[[nodiscard]] std::vector<Delivery> read_history(store::Transaction& tx, const HistoryQuery& query);

[[nodiscard]] std::optional<Delivery> find_delivery(
    store::Transaction& tx, const TenantId& tenant_id, const std::string& delivery_id
);

// Puts a dead, cancelled or delivered delivery back: pending, due now, no attempts, no result; id
// and body stay. Returns it as it is then. NOT_FOUND when it is not in the tenant or its webhook is
// paused, INVALID_STATE when it is pending. The caller wakes delivery.
Delivery redeliver_one(
    store::Transaction& tx, const TenantId& tenant_id, const std::string& delivery_id, EpochMs now
);

// Deletes up to kPruneRows deliveries of a webhook that is deleted in this transaction, with their
// attempts and bodies; what is left is noted for pruning.
void delete_history(store::Transaction& tx, std::int64_t webhook, const TenantId& tenant_id);

// Deletes the bodies among `events` that no delivery needs any more.
void delete_unused_bodies(store::Transaction& tx, const store::IntList& events);

}  // namespace compute::events
