// webhooks.ping and webhooks.redeliver: a tenant puts a delivery into the queue.
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/events/body.h"
#include "modules/events/history.h"
#include "modules/events/methods/methods.h"
#include "modules/events/patterns.h"

namespace compute::events {
namespace {

struct PingInput {
    TenantId tenant_id;
    std::string webhook_id;
};
struct RedeliverInput {
    TenantId tenant_id;
    std::string delivery_id;
};

constexpr const char* kInsertBody =
    "insert into webhook_bodies (event_id, tenant_id, type, position, body) values ($1, $2, $3, "
    "'', $4) returning event";
constexpr const char* kInsertDelivery =
    "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at) values ($1, "
    "$2, $3, 0, $4, $4)";

Json ping(method::Context& context, PingInput& input) {
    store::Transaction& tx = context.transaction();
    const Webhook webhook = get_webhook(tx, input.tenant_id, input.webhook_id, Lock::Yes);
    if (!webhook.is_active) {
        throw webhook_not_found();
    }
    Delivery delivery;
    delivery.id = context.new_id("dlv_");
    delivery.webhook_id = webhook.id;
    delivery.tenant_id = webhook.tenant_id;
    delivery.event_id = context.new_id("evt_");
    delivery.event_type = kPingType;
    delivery.next_at = delivery.queued_at = context.now();
    const std::string subject = "webhook/" + webhook.id;
    const std::string data = dump_json(Json{{"webhookId", webhook.id}});
    const std::string body = event_body({
        .id = delivery.event_id,
        .type = delivery.event_type,
        .tenant_id = webhook.tenant_id.str(),
        .subject = subject,
        .time = delivery.queued_at,
        .sequence = "",
        .data = data,
    });
    touch_lane(tx, webhook.num, delivery.next_at);
    const std::int64_t event =
        tx.get_row(kInsertBody, {delivery.event_id, webhook.tenant_id, delivery.event_type, body})
            .get_int(0);
    tx.defer(kInsertDelivery, {delivery.id, webhook.num, event, delivery.next_at});
    wake_after_commit(context, tx, kDeliveriesChannel);
    return delivery_json(delivery);
}

Json redeliver(method::Context& context, RedeliverInput& input) {
    store::Transaction& tx = context.transaction();
    const Delivery delivery = redeliver_one(tx, input.tenant_id, input.delivery_id, context.now());
    wake_after_commit(context, tx, kDeliveriesChannel);
    return delivery_json(delivery);
}

}  // namespace

method::MethodEntry ping_method() {
    schema::Manifest<PingInput> manifest;
    manifest.required("tenantId", &PingInput::tenant_id, schema::tenant_id())
        .required("webhookId", &PingInput::webhook_id, schema::id_of("whk_"));
    return manage_method<PingInput>("ping", method::Kind::Mutation, manifest, ping);
}

method::MethodEntry redeliver_method() {
    schema::Manifest<RedeliverInput> manifest;
    manifest.required("tenantId", &RedeliverInput::tenant_id, schema::tenant_id())
        .required("deliveryId", &RedeliverInput::delivery_id, schema::id_of("dlv_"));
    return manage_method<RedeliverInput>("redeliver", method::Kind::Mutation, manifest, redeliver);
}

}  // namespace compute::events
