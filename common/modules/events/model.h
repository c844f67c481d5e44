// Webhooks and deliveries as rows and as answers. Secrets are in neither answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/ids.h"
#include "modules/events/policy.h"
#include "store/database.h"

namespace compute::events {

// Channels of the wake hub and of Database::notify: there are new deliveries; a webhook changed.
inline constexpr const char* kDeliveriesChannel = "deliveries";
inline constexpr const char* kWebhooksChannel = "webhooks";

// due_at of a lane with nothing pending.
inline constexpr std::int64_t kNever = 9'007'199'254'740'991;

struct Webhook {
    std::int64_t num = 0;  // inside only
    std::string id;        // whk_...
    TenantId tenant_id;
    std::string url;
    std::vector<std::string> patterns;
    std::optional<std::string> description;
    bool is_active = true;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;
    std::optional<std::string> created_by;
    std::string secret;                          // sealed
    std::optional<std::string> previous_secret;  // sealed
    std::optional<EpochMs> previous_expires_at;
};

// The columns of webhook_from, for a select from webhooks aliased `w`.
#define COMPUTE_WEBHOOK_COLUMNS                                                            \
    "w.num, w.id, w.tenant_id, w.url, w.patterns, w.description, w.active, w.created_at, " \
    "w.updated_at, "                                                                       \
    "w.created_by, w.secret, w.previous_secret, w.previous_expires_at"
[[nodiscard]] Webhook webhook_from(const store::Row& row);

// The answer; previousSecretExpiresAt only while that time lies ahead of `now`.
[[nodiscard]] Json webhook_json(const Webhook& webhook, EpochMs now);

struct Delivery {
    std::int64_t seq = 0;
    std::string id;  // dlv_...
    std::string webhook_id;
    TenantId tenant_id;
    std::string event_id;
    std::string event_type;
    DeliveryState state = DeliveryState::Pending;
    int attempts = 0;
    EpochMs next_at = 0;
    EpochMs queued_at = 0;
    std::optional<int> last_status;
    std::optional<std::string> last_error;
    std::optional<EpochMs> done_at;
    std::int64_t event = 0;    // order within the webhook
    std::int64_t webhook = 0;  // number of the webhook
};

// The columns of delivery_from: webhook_deliveries `d`, webhooks `w`, webhook_bodies `b`.
#define COMPUTE_DELIVERY_COLUMNS                                                           \
    "d.seq, d.id, w.id, w.tenant_id, b.event_id, b.type, d.state, d.attempts, d.next_at, " \
    "d.queued_at, "                                                                        \
    "d.last_status, d.last_error, d.done_at, d.event, d.webhook"
[[nodiscard]] Delivery delivery_from(const store::Row& row);

// The answer: nextAttemptAt only while pending, the last three only when they apply.
[[nodiscard]] Json delivery_json(const Delivery& delivery);

// pending, delivered, dead, cancelled.
[[nodiscard]] std::string_view state_name(DeliveryState state) noexcept;
[[nodiscard]] std::optional<DeliveryState> find_state(std::string_view name) noexcept;

// Finds a webhook of the tenant. `lock`: its row is kept from changing until the transaction ends.
enum class Lock { No, Yes };
[[nodiscard]] std::optional<Webhook> find_webhook(
    store::Transaction& tx,
    const TenantId& tenant_id,
    const std::string& webhook_id,
    Lock lock = Lock::No
);
// Throws NOT_FOUND in the same words for an unknown id and for another tenant's webhook.
[[nodiscard]] Webhook get_webhook(
    store::Transaction& tx,
    const TenantId& tenant_id,
    const std::string& webhook_id,
    Lock lock = Lock::No
);
[[nodiscard]] ComputeError webhook_not_found();
[[nodiscard]] ComputeError delivery_not_found();

// Tells the lane that a row is due at `due_at`; locks the lane's row, so it comes before the
// delivery rows are touched (lane first is the lock order everywhere). A held lane keeps its lease:
// the holder finds the row itself.
void touch_lane(store::Transaction& tx, std::int64_t webhook, EpochMs due_at);

}  // namespace compute::events
