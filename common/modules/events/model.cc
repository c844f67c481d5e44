#include "modules/events/model.h"

#include <array>

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::events {
namespace {

constexpr std::array<std::string_view, 4> kStateNames = {
    "pending", "delivered", "dead", "cancelled"};

constexpr const char* kFindWebhook =
    "select " COMPUTE_WEBHOOK_COLUMNS " from webhooks w where w.tenant_id = $1 and w.id = $2";
constexpr store::Sql kFindWebhookLocked(
    "select " COMPUTE_WEBHOOK_COLUMNS " from webhooks w where w.tenant_id = $1 and w.id = $2",
    "select " COMPUTE_WEBHOOK_COLUMNS
    " from webhooks w where w.tenant_id = $1 and w.id = $2 for update"
);

constexpr const char* kTouchLane =
    "update webhook_lanes set due_at = case when token is null and due_at > $2 then $2 else due_at "
    "end"
    " where webhook = $1";

}  // namespace

Webhook webhook_from(const store::Row& row) {
    Webhook webhook;
    webhook.num = row.get_int(0);
    webhook.id = row.get_text(1);
    webhook.tenant_id = TenantId(row.get_text(2));
    webhook.url = row.get_text(3);
    webhook.patterns = Json::parse(row.get_text(4)).get<std::vector<std::string>>();
    webhook.description = row.find_text(5);
    webhook.is_active = row.get_bool(6);
    webhook.created_at = row.get_int(7);
    webhook.updated_at = row.get_int(8);
    webhook.created_by = row.find_text(9);
    webhook.secret = row.get_text(10);
    webhook.previous_secret = row.find_text(11);
    webhook.previous_expires_at = row.find_int(12);
    return webhook;
}

Json webhook_json(const Webhook& webhook, EpochMs now) {
    Json out = {
        {"id", webhook.id},
        {"tenantId", webhook.tenant_id.str()},
        {"url", webhook.url},
        {"events", webhook.patterns},
        {"active", webhook.is_active},
        {"createdAt", webhook.created_at},
        {"updatedAt", webhook.updated_at},
    };
    if (webhook.description) {
        out["description"] = *webhook.description;
    }
    if (webhook.created_by) {
        out["createdBy"] = *webhook.created_by;
    }
    if (webhook.previous_expires_at && *webhook.previous_expires_at > now) {
        out["previousSecretExpiresAt"] = *webhook.previous_expires_at;
    }
    return out;
}

Delivery delivery_from(const store::Row& row) {
    Delivery delivery;
    delivery.seq = row.get_int(0);
    delivery.id = row.get_text(1);
    delivery.webhook_id = row.get_text(2);
    delivery.tenant_id = TenantId(row.get_text(3));
    delivery.event_id = row.get_text(4);
    delivery.event_type = row.get_text(5);
    delivery.state = static_cast<DeliveryState>(row.get_int(6));
    delivery.attempts = static_cast<int>(row.get_int(7));
    delivery.next_at = row.get_int(8);
    delivery.queued_at = row.get_int(9);
    if (const auto status = row.find_int(10)) {
        delivery.last_status = static_cast<int>(*status);
    }
    delivery.last_error = row.find_text(11);
    delivery.done_at = row.find_int(12);
    delivery.event = row.get_int(13);
    delivery.webhook = row.get_int(14);
    return delivery;
}

Json delivery_json(const Delivery& delivery) {
    Json out = {
        {"id", delivery.id},
        {"webhookId", delivery.webhook_id},
        {"tenantId", delivery.tenant_id.str()},
        {"eventId", delivery.event_id},
        {"eventType", delivery.event_type},
        {"state", state_name(delivery.state)},
        {"attempts", delivery.attempts},
        {"createdAt", delivery.queued_at},
    };
    if (delivery.state == DeliveryState::Pending) {
        out["nextAttemptAt"] = delivery.next_at;
    }
    if (delivery.last_status) {
        out["lastStatus"] = *delivery.last_status;
    }
    if (delivery.last_error) {
        out["lastError"] = *delivery.last_error;
    }
    if (delivery.state == DeliveryState::Delivered && delivery.done_at) {
        out["deliveredAt"] = *delivery.done_at;
    }
    return out;
}

std::string_view state_name(DeliveryState state) noexcept {
    return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<DeliveryState> find_state(std::string_view name) noexcept {
    for (std::size_t i = 0; i < kStateNames.size(); ++i) {
        if (kStateNames[i] == name) {
            return static_cast<DeliveryState>(i);
        }
    }
    return std::nullopt;
}

std::optional<Webhook> find_webhook(
    store::Transaction& tx, const TenantId& tenant_id, const std::string& webhook_id, Lock lock
) {
    const store::Sql sql = lock == Lock::Yes ? kFindWebhookLocked : store::Sql(kFindWebhook);
    if (const auto row = tx.find_row(sql, {tenant_id, webhook_id})) {
        return webhook_from(*row);
    }
    return std::nullopt;
}

Webhook get_webhook(
    store::Transaction& tx, const TenantId& tenant_id, const std::string& webhook_id, Lock lock
) {
    auto webhook = find_webhook(tx, tenant_id, webhook_id, lock);
    if (!webhook) {
        throw webhook_not_found();
    }
    return *std::move(webhook);
}

ComputeError webhook_not_found() {
    return not_found("webhook: not found");
}

ComputeError delivery_not_found() {
    return not_found("delivery: not found");
}

void touch_lane(store::Transaction& tx, std::int64_t webhook, EpochMs due_at) {
    tx.execute(kTouchLane, {webhook, due_at});
}

}  // namespace compute::events
