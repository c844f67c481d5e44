// webhooks.update: url, patterns, description, pause and resume.
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/events/methods/methods.h"
#include "modules/events/patterns.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

struct UpdateInput {
    TenantId tenant_id;
    std::string webhook_id;
    std::optional<std::string> url;
    std::optional<std::vector<std::string>> events;
    std::optional<std::optional<std::string>> description;
    std::optional<bool> active;
};

constexpr const char* kUpdate =
    "update webhooks set url = $3, patterns = $4, description = $5, active = $6, visible_mark = "
    "coalesce($7, visible_mark),"
    " proof_mark = coalesce($9, proof_mark),"
    " revision = revision + 1, updated_at = $8 where tenant_id = $1 and id = $2";
// Takes the lane from whoever holds it: what is in flight ends without a result.
constexpr const char* kEmptyLane =
    "update webhook_lanes set token = null, due_at = $2, careful = 0 where webhook = $1";
constexpr const char* kCancelPending =
    "update webhook_deliveries set state = 3, done_at = $2, token = null where webhook = $1 and "
    "state = 0";

// Everything in the transaction of the call: a crash leaves the webhook wholly as it was, or paused
// with its pending deliveries cancelled. A claim made before is refused its result; an engine
// elsewhere is told after the commit and drops what it holds.
Json update(const MethodSettings& settings, method::Context& context, UpdateInput& input) {
    if (input.events) {
        check_patterns(context, *input.events);
    }
    store::Transaction& tx = context.transaction();
    Webhook webhook = get_webhook(tx, input.tenant_id, input.webhook_id, Lock::Yes);
    const bool was_active = webhook.is_active;
    if (input.url) {
        webhook.url = check_webhook_url(*input.url, settings.url_rules).text;
    }
    if (input.events) {
        webhook.patterns = *input.events;
    }
    if (input.description) {
        webhook.description = *input.description;
    }
    webhook.is_active = input.active.value_or(was_active);
    webhook.updated_at = context.now();
    // Resumed from here on: what is visible now happened before.
    std::optional<std::string> resumed_mark;
    std::optional<std::string> proof_mark;
    if (input.events || webhook.is_active != was_active) {
        proof_mark = outbox::visibility_mark(tx);
    }
    if (webhook.is_active && !was_active) {
        resumed_mark = proof_mark;
    }
    tx.execute(
        kUpdate,
        {webhook.tenant_id,
         webhook.id,
         webhook.url,
         dump_json(webhook.patterns),
         webhook.description,
         webhook.is_active,
         resumed_mark,
         webhook.updated_at,
         proof_mark}
    );
    if (!webhook.is_active) {
        tx.execute(kEmptyLane, {webhook.num, kNever});
        tx.execute(kCancelPending, {webhook.num, webhook.updated_at});
    }
    wake_after_commit(context, tx, kWebhooksChannel);
    return webhook_json(webhook, context.now());
}

}  // namespace

method::MethodEntry update_method(const SharedSettings& settings) {
    schema::Manifest<UpdateInput> manifest;
    manifest.required("tenantId", &UpdateInput::tenant_id, schema::tenant_id())
        .required("webhookId", &UpdateInput::webhook_id, schema::id_of("whk_"))
        .optional(
            "url",
            &UpdateInput::url,
            schema::string({.pattern = "", .min_length = 1, .max_length = net::kMaxUrlBytes})
        )
        .optional(
            "events",
            &UpdateInput::events,
            schema::array(
                schema::string(
                    {.pattern = kPatternRegex, .min_length = 1, .max_length = kMaxPatternCharacters}
                ),
                {.min_items = 1, .max_items = kMaxPatterns}
            )
        )
        .nullable(
            "description",
            &UpdateInput::description,
            schema::string({.pattern = "", .max_length = kMaxDescriptionCharacters})
        )
        .optional("active", &UpdateInput::active, schema::boolean())
        .min_fields(3);  // something to change
    return manage_method<UpdateInput>(
        "update",
        method::Kind::Mutation,
        manifest,
        [settings](method::Context& context, UpdateInput& input) {
            return update(*settings, context, input);
        }
    );
}

}  // namespace compute::events
