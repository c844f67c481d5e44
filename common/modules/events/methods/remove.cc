// webhooks.delete and webhooks.rotateSecret
#include <nlohmann/json.hpp>

#include "modules/events/history.h"
#include "modules/events/methods/methods.h"
#include "modules/events/signing.h"

namespace compute::events {
namespace {

struct DeleteInput {
    TenantId tenant_id;
    std::string webhook_id;
};
struct RotateInput {
    TenantId tenant_id;
    std::string webhook_id;
    std::optional<std::int64_t> keep_previous_seconds;
};

constexpr const char* kDeleteLane = "delete from webhook_lanes where webhook = $1";
constexpr const char* kDeleteWebhook = "delete from webhooks where tenant_id = $1 and id = $2";
constexpr const char* kRotate =
    "update webhooks set secret = $3, previous_secret = $4, previous_expires_at = $5, revision = "
    "revision + 1,"
    " updated_at = $6 where tenant_id = $1 and id = $2";

// The webhook is gone for everyone when this commits. A history too long for one transaction leaves
// its rest to pruning, noted here, so a crash in between forgets nothing; without their webhook
// those rows are visible to nobody and never sent.
Json remove(method::Context& context, DeleteInput& input) {
    store::Transaction& tx = context.transaction();
    const Webhook webhook = get_webhook(tx, input.tenant_id, input.webhook_id, Lock::Yes);
    tx.execute(
        kDeleteLane, {webhook.num}
    );  // lane first: from here on nobody claims or queues for it
    tx.execute(kDeleteWebhook, {webhook.tenant_id, webhook.id});
    delete_history(tx, webhook.num, webhook.tenant_id);
    wake_after_commit(context, tx, kWebhooksChannel);
    return {{"deleted", true}};
}

// One previous slot: rotating again inside the window forgets the secret before the previous one.
// Deliveries are signed when they are sent, so retries queued before get the new signature.
Json rotate(const MethodSettings& settings, method::Context& context, RotateInput& input) {
    store::Transaction& tx = context.transaction();
    Webhook webhook = get_webhook(tx, input.tenant_id, input.webhook_id, Lock::Yes);
    const crypto::Secret secret = new_webhook_secret(context.runtime->rng);
    const EpochMs now = context.now();
    const std::int64_t keep_seconds = input.keep_previous_seconds.value_or(0);
    webhook.previous_secret.reset();
    webhook.previous_expires_at.reset();
    if (keep_seconds > 0) {
        webhook.previous_secret = webhook.secret;
        webhook.previous_expires_at = now + keep_seconds * 1000;
    }
    webhook.secret = seal_secret(settings, context, secret, webhook.id);
    webhook.updated_at = now;
    tx.execute(
        kRotate,
        {webhook.tenant_id,
         webhook.id,
         webhook.secret,
         webhook.previous_secret,
         webhook.previous_expires_at,
         now}
    );
    wake_after_commit(context, tx, kWebhooksChannel);
    return {{"webhook", webhook_json(webhook, now)}, {"secret", secret.reveal()}};
}

}  // namespace

method::MethodEntry delete_method() {
    schema::Manifest<DeleteInput> manifest;
    manifest.required("tenantId", &DeleteInput::tenant_id, schema::tenant_id())
        .required("webhookId", &DeleteInput::webhook_id, schema::id_of("whk_"));
    return manage_method<DeleteInput>("delete", method::Kind::Mutation, manifest, remove);
}

method::MethodEntry rotate_secret_method(const SharedSettings& settings) {
    schema::Manifest<RotateInput> manifest;
    manifest.required("tenantId", &RotateInput::tenant_id, schema::tenant_id())
        .required("webhookId", &RotateInput::webhook_id, schema::id_of("whk_"))
        .optional(
            "keepPreviousSeconds",
            &RotateInput::keep_previous_seconds,
            schema::integer({.min = 0, .max = kMaxKeepPreviousSeconds})
        );
    return manage_method<RotateInput>(
        "rotateSecret",
        method::Kind::Mutation,
        manifest,
        [settings](method::Context& context, RotateInput& input) {
            return rotate(*settings, context, input);
        }
    );
}

}  // namespace compute::events
