#include <nlohmann/json.hpp>

#include "iam/local/token_store.h"
#include "modules/iam/entries.h"

namespace compute::iam_methods {

namespace {

namespace local = iam::local;

constexpr std::size_t kMaxIds = 1000;

schema::Shape identity_name() {
    return schema::string({.pattern = "", .min_length = 1, .max_length = 256});
}

void put(Json& to, const char* name, const auto& value) {
    if (value) {
        to[name] = *value;
    }
}

struct CreateInput {
    std::string tenant_id;
    std::string identity_id;
    std::optional<std::string> delegation_id;
    std::optional<std::int64_t> lifetime_ms;
    std::optional<Json> scope;
};

method::Method<CreateInput> make_create() {
    method::Method<CreateInput> method;
    method.kind = method::Kind::Mutation;
    method.input(schema::Manifest<CreateInput>()
                     .required("tenantId", &CreateInput::tenant_id, schema::tenant_id())
                     .required("identityId", &CreateInput::identity_id, identity_name())
                     .optional("delegationId", &CreateInput::delegation_id, identity_name())
                     .optional("lifetimeMs", &CreateInput::lifetime_ms, schema::integer({.min = 1}))
                     .optional("scope", &CreateInput::scope, schema::any_object()));
    method.handler = [](method::Context& context, CreateInput& input) {
        local::NewToken wanted;
        wanted.tenant_id = input.tenant_id;
        wanted.identity_id = input.identity_id;
        wanted.delegation_id = input.delegation_id;
        wanted.lifetime_ms = input.lifetime_ms;
        wanted.scope = input.scope ? std::make_shared<const Json>(*input.scope) : nullptr;
        wanted.created_by = context.caller->identity_id.str();
        // If the process dies after the commit and before the token is printed, a token exists that
        // nobody has; it is listed and can be revoked.
        const auto made = local::create_token(
            context.transaction(), wanted, context.runtime->clock, context.runtime->rng
        );
        Json out = {{"id", made.id}, {"token", std::string(made.token.reveal())}};
        put(out, "expiresAt", made.expires_at);
        return out;
    };
    return method;
}

struct ListInput {
    std::optional<std::string> tenant_id;
    std::optional<std::string> identity_id;
};

Json to_json(const local::TokenRow& row) {
    Json out = {
        {"id", row.id},
        {"tenantId", row.tenant_id},
        {"identityId", row.identity_id},
        {"kind", row.kind},
        {"scoped", row.is_scoped},
        {"createdAt", row.created_at},
        {"createdBy", row.created_by}};
    put(out, "delegationId", row.delegation_id);
    put(out, "expiresAt", row.expires_at);
    put(out, "revokedAt", row.revoked_at);
    return out;
}

method::Method<ListInput> make_list() {
    method::Method<ListInput> method;
    method.kind = method::Kind::Read;
    method.input(schema::Manifest<ListInput>()
                     .optional("tenantId", &ListInput::tenant_id, schema::tenant_id())
                     .optional("identityId", &ListInput::identity_id, identity_name()));
    method.handler = [](method::Context& context, ListInput& input) {
        Json items = Json::array();
        for (const local::TokenRow& row :
             local::list_tokens(context.transaction(), {input.tenant_id, input.identity_id})) {
            items.push_back(to_json(row));
        }
        return Json{{"items", items}};
    };
    return method;
}

struct RevokeInput {
    std::vector<std::string> ids;
};

method::Method<RevokeInput> make_revoke() {
    method::Method<RevokeInput> method;
    method.kind = method::Kind::Mutation;
    method.input(schema::Manifest<RevokeInput>().required(
        "ids",
        &RevokeInput::ids,
        schema::array(identity_name(), {.min_items = 1, .max_items = kMaxIds})
    ));
    method.handler = [](method::Context& context, RevokeInput& input) {
        local::revoke_tokens(context.transaction(), input.ids, context.now());
        return Json{{"revoked", input.ids}};
    };
    return method;
}

struct SwitchInput {
    std::string what;
    std::string id;
    bool is_enabled = true;
};

method::Method<SwitchInput> make_switch() {
    method::Method<SwitchInput> method;
    method.kind = method::Kind::Mutation;
    method.input(schema::Manifest<SwitchInput>()
                     .required("what", &SwitchInput::what, schema::one_of({"tenant", "identity"}))
                     .required("id", &SwitchInput::id, identity_name())
                     .required("enabled", &SwitchInput::is_enabled, schema::boolean()));
    method.handler = [](method::Context& context, SwitchInput& input) {
        const auto to = input.is_enabled ? local::Switch::Enable : local::Switch::Disable;
        if (input.what == "tenant") {
            local::switch_tenant(context.transaction(), input.id, to, context.root_tenant_id());
        } else {
            local::switch_identity(context.transaction(), input.id, to);
        }
        return Json{{"what", input.what}, {"id", input.id}, {"enabled", input.is_enabled}};
    };
    return method;
}

}  // namespace

std::vector<method::MethodEntry> token_methods() {
    std::vector<method::MethodEntry> entries;
    entries.push_back(on_fleet("iam", "createToken", kManage, make_create()));
    entries.push_back(on_fleet("iam", "listTokens", kRead, make_list()));
    entries.push_back(on_fleet("iam", "revokeTokens", kManage, make_revoke()));
    entries.push_back(on_fleet("iam", "switch", kManage, make_switch()));
    return entries;
}

}  // namespace compute::iam_methods
