// The example plugin: widgets that can be poked. It shows all a plugin may bring: methods with actions of its own, a resource type with
// rows in the authz projection, a migration, an event family.
#include <string>

#include <nlohmann/json.hpp>

#include "method/plugin.h"

namespace {

using compute::Json;
using compute::TenantId;
using compute::method::Context;
using compute::method::Kind;
using compute::method::Method;
using compute::method::MethodEntry;
using compute::method::Module;
using compute::method::Resource;
namespace schema = compute::schema;

struct WidgetInput {
    TenantId tenant_id;
    std::string widget_id;
};

schema::Manifest<WidgetInput> widget_input() {
    return schema::Manifest<WidgetInput>()
        .required("tenantId", &WidgetInput::tenant_id, schema::tenant_id())
        .required("widgetId", &WidgetInput::widget_id, schema::string({.pattern = "^[a-z0-9-]{1,64}$", .max_length = 64}));
}

compute::outbox::Event widget_event(const char* type, const WidgetInput& input) {
    return {type, input.tenant_id, "widget/" + input.widget_id, std::make_shared<const Json>(Json{{"widgetId", input.widget_id}})};
}

Json create(Context& context, WidgetInput& input) {
    auto& tx = context.transaction();
    tx.execute("insert into acme_widgets (tenant_id, id, pokes) values ($1, $2, 0)", {input.tenant_id, input.widget_id});
    context.authz_upsert(tx, {{"acme-widget", input.widget_id}, input.tenant_id, std::make_shared<const Json>(Json{{"colour", "blue"}}), {}, {}});
    context.publish(tx, widget_event("acme.widget.created", input));
    return {{"widgetId", input.widget_id}};
}

Json poke(Context& context, WidgetInput& input) {
    auto& tx = context.transaction();
    const auto changed = tx.execute(
        "update acme_widgets set pokes = pokes + 1 where tenant_id = $1 and id = $2", {input.tenant_id, input.widget_id}
    );
    if (changed == 0) {
        throw compute::not_found("widget: not found");
    }
    context.publish(tx, widget_event("acme.widget.poked", input));
    return {{"poked", input.widget_id}};
}

MethodEntry entry(const char* name, const char* action, bool on_widget, Json (*handler)(Context&, WidgetInput&)) {
    Method<WidgetInput> method;
    method.action = action;
    method.kind = Kind::Mutation;
    method.resource = [on_widget](const WidgetInput& input) {
        return on_widget ? Resource{"acme-widget", input.widget_id, std::nullopt} : Resource::tenant(input.tenant_id.str());
    };
    method.input(widget_input());
    method.handler = handler;
    return {"widgets", name, compute::method::define_method(std::move(method)), std::nullopt};
}

constexpr const char* kMigration =
    "create table acme_widgets (tenant_id text not null, id text not null, pokes bigint not null, primary key (tenant_id, id))";

Module acme() {
    Module module;
    module.methods = {
        entry("create", "compute:acme:create", false, create),
        entry("poke", "compute:acme:poke", true, poke),
    };
    module.migrations = {{"acme/0001_widgets", kMigration, kMigration}};
    module.event_families = {{"acme.widget", "widget/{id}", "acme", "widgets of Acme", {"acme.widget.created", "acme.widget.poked"}}};
    module.resource_types = {"acme-widget"};
    return module;
}

}  // namespace

COMPUTE_PLUGIN("acme", acme)
