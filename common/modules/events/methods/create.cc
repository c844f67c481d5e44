// webhooks.create
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/events/methods/methods.h"
#include "modules/events/patterns.h"
#include "modules/events/signing.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

struct CreateInput {
    TenantId tenant_id;
    std::string url;
    std::vector<std::string> events;
    std::optional<std::string> description;
};

// Two creates at the limit of one tenant must not both pass: on PostgreSQL they queue on a lock of
// the tenant that ends with the transaction; SQLite has one writer.
constexpr const char* kLockTenant =
    "select pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1, 0))::text";
constexpr const char* kCount = "select count(*) from webhooks where tenant_id = $1";
constexpr const char* kInsert =
    "insert into webhooks (id, tenant_id, url, patterns, description, active, secret, "
    "visible_mark, proof_mark, revision,"
    " created_at, updated_at, created_by) values ($1, $2, $3, $4, $5, 1, $6, $7, $7, 1, $8, $8, "
    "$9) returning num";
constexpr const char* kInsertLane =
    "insert into webhook_lanes (webhook, due_at, slow) values ($1, $2, 2)";

void check_limit(store::Transaction& tx, const TenantId& tenant_id, int limit) {
    if (tx.engine() == store::Engine::Postgres) {
        tx.query(kLockTenant, {tenant_id});
    }
    // A statement of its own: it must see what the holder of the lock before us committed.
    if (tx.get_row(kCount, {tenant_id}).get_int(0) >= limit) {
        throw ComputeError(
            ErrorCode::QuotaExceeded,
            "a tenant can have " + std::to_string(limit) + " webhooks",
            Json{{"limit", limit}}
        );
    }
}

// Webhook and lane stand in one transaction: dying before its end leaves neither. The caller who
// never got the answer finds the webhook with list; there is no idempotency key.
Json create(const MethodSettings& settings, method::Context& context, CreateInput& input) {
    check_patterns(context, input.events);
    store::Transaction& tx = context.transaction();
    check_limit(tx, input.tenant_id, context.config().events.max_per_tenant);

    Webhook webhook;
    webhook.id = context.new_id("whk_");
    webhook.tenant_id = input.tenant_id;
    webhook.url = input.url;
    webhook.patterns = input.events;
    webhook.description = input.description;
    webhook.created_at = webhook.updated_at = context.now();
    if (context.caller != nullptr) {
        webhook.created_by = context.caller->identity_id.str();
    }
    const crypto::Secret secret = new_webhook_secret(context.runtime->rng);
    webhook.secret = seal_secret(settings, context, secret, webhook.id);
    webhook.num = tx.get_row(
                        kInsert,
                        {webhook.id,
                         webhook.tenant_id,
                         webhook.url,
                         dump_json(webhook.patterns),
                         webhook.description,
                         webhook.secret,
                         outbox::visibility_mark(tx),
                         webhook.created_at,
                         webhook.created_by}
    )
                      .get_int(0);
    tx.defer(kInsertLane, {webhook.num, kNever});
    return {{"webhook", webhook_json(webhook, webhook.created_at)}, {"secret", secret.reveal()}};
}

}  // namespace

method::MethodEntry create_method(const SharedSettings& settings) {
    schema::Manifest<CreateInput> manifest;
    manifest.required("tenantId", &CreateInput::tenant_id, schema::tenant_id())
        .required(
            "url",
            &CreateInput::url,
            schema::string({.pattern = "", .min_length = 1, .max_length = net::kMaxUrlBytes})
        )
        .required(
            "events",
            &CreateInput::events,
            schema::array(
                schema::string(
                    {.pattern = kPatternRegex, .min_length = 1, .max_length = kMaxPatternCharacters}
                ),
                {.min_items = 1, .max_items = kMaxPatterns}
            )
        )
        .optional(
            "description",
            &CreateInput::description,
            schema::string({.pattern = "", .max_length = kMaxDescriptionCharacters})
        );
    return manage_method<CreateInput>(
        "create",
        method::Kind::Mutation,
        manifest,
        [settings](method::Context& context, CreateInput& input) {
            // The normalized form is kept, so that what was judged is what is connected to.
            input.url = check_webhook_url(input.url, settings->url_rules).text;
            return create(*settings, context, input);
        }
    );
}

}  // namespace compute::events
