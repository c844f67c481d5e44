// What operators ask about webhooks: what there is, one delivery told in full, and whether every
// event reached the queue. Read-only, straight from the database, across tenants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "modules/events/history.h"
#include "modules/events/model.h"

namespace compute::events {

// Webhooks as webhooks.list shows them, with the counts `pending` and `dead` added, in order of
// creation.
[[nodiscard]] std::vector<Json> list_webhooks(
    store::Database& database, const std::optional<TenantId>& tenant_id, EpochMs now
);

struct DeliveryListing {
    std::string webhook_id;              // empty: of every webhook
    std::optional<DeliveryState> state;  // absent: in any
    std::string cursor;                  // of an earlier answer; empty: from the newest on
    int limit = 50;
};
// Deliveries of every tenant, the one queued last first: {items, nextCursor?}, as
// webhooks.deliveries answers for one. INVALID_INPUT for a cursor that was not given here.
[[nodiscard]] Json list_deliveries(store::Database& database, const DeliveryListing& listing);

// One delivery in full: {delivery, webhook: {id, url, active}, event: {id, type, position, bytes},
// attempts: [{round, attempt, startedAt, endedAt, outcome, status?, error?, detail?, address?,
// phases}], next: sentence, story: [sentences]}. Addresses and details are for operators. nullopt
// when there is none of that id.
[[nodiscard]] std::optional<Json> explain_delivery(
    store::Database& database,
    const config::Config& config,
    const std::string& delivery_id,
    EpochMs now
);

struct ProofGap {
    std::string webhook_id;
    std::string event_id;
    std::string position;
};
struct Proof {
    std::int64_t expected = 0;
    std::int64_t found = 0;
    std::int64_t set_aside = 0;  // events that could not be queued; no gaps
    std::vector<ProofGap> gaps;
    [[nodiscard]] bool is_ok() const noexcept { return gaps.empty(); }
};

// Walks the outbox from `since` to the fan-out cursor and asks for every event: is there a delivery
// for each active webhook of its tenant that wanted it? A webhook answers for events from its
// creation, its last resume or its last change of patterns on, whichever came last. Events older
// than the retention of deliveries are left out: their deliveries may be pruned.
[[nodiscard]] Proof prove_queueing(
    store::Database& database,
    const config::Config& config,
    EpochMs since,
    const std::optional<TenantId>& tenant_id,
    EpochMs now
);

}  // namespace compute::events
