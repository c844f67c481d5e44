// webhooks.get, webhooks.list, webhooks.eventTypes
#include <nlohmann/json.hpp>

#include "modules/events/methods/methods.h"

namespace compute::events {
namespace {

struct TenantInput {
    TenantId tenant_id;
};
struct WebhookInput {
    TenantId tenant_id;
    std::string webhook_id;
};

constexpr const char* kList =
    "select " COMPUTE_WEBHOOK_COLUMNS " from webhooks w where w.tenant_id = $1 order by w.num";

schema::Manifest<TenantInput> tenant_manifest() {
    schema::Manifest<TenantInput> manifest;
    manifest.required("tenantId", &TenantInput::tenant_id, schema::tenant_id());
    return manifest;
}

}  // namespace

method::MethodEntry get_method() {
    schema::Manifest<WebhookInput> manifest;
    manifest.required("tenantId", &WebhookInput::tenant_id, schema::tenant_id())
        .required("webhookId", &WebhookInput::webhook_id, schema::id_of("whk_"));
    return manage_method<WebhookInput>(
        "get",
        method::Kind::Read,
        manifest,
        [](method::Context& context, WebhookInput& input) {
            return webhook_json(
                get_webhook(context.transaction(), input.tenant_id, input.webhook_id), context.now()
            );
        }
    );
}

method::MethodEntry list_method() {
    return manage_method<TenantInput>(
        "list",
        method::Kind::Read,
        tenant_manifest(),
        [](method::Context& context, TenantInput& input) {
            Json items = Json::array();
            for (const store::Row& row : context.transaction().query(kList, {input.tenant_id})) {
                items.push_back(webhook_json(webhook_from(row), context.now()));
            }
            return Json{{"items", std::move(items)}};
        }
    );
}

method::MethodEntry event_types_method() {
    return manage_method<TenantInput>(
        "eventTypes",
        method::Kind::Read,
        tenant_manifest(),
        [](method::Context& context, TenantInput&) {
            Json items = Json::array();
            for (const outbox::EventFamily& family : context.runtime->catalog.families()) {
                items.push_back(
                    {{"type", family.name + ".*"},
                     {"subject", family.subject},
                     {"module", family.module},
                     {"description", family.description}}
                );
            }
            return Json{{"items", std::move(items)}};
        }
    );
}

}  // namespace compute::events
