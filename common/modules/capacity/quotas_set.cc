#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/quota_fields.h"

namespace compute::capacity {
namespace {

struct LimitsInput {
    Limits values;
    static LimitsInput decode(const Json& value) { return {decode_limits(value)}; }
};

struct SetInput : QuotaInput {
    LimitsInput limits;
    std::optional<std::int64_t> version;
};

void publish(
    const method::Context& context, store::Transaction& tx, const Quota& quota, const Limits& before
) {
    Json data = scope_json(quota.scope);
    data["before"] = before;
    data["after"] = quota.limits;
    const std::string subject = quota.scope.project_id.empty() ? "tenant" : quota.scope.project_id;
    context.publish(
        tx,
        {.type = "quota.changed",
         .tenant_id = quota.scope.tenant_id,
         .subject = "quota/" + subject,
         .data = std::make_shared<const Json>(std::move(data))}
    );
}

// The whole object is put: a resource that is not named has no limit from now on. Lowering a limit
// below what is in use takes nothing away; it refuses new claims. Row, audit row and event commit
// together; repeating the call changes nothing and raises no event.
Json handle(method::Context& context, SetInput& input) {
    store::Transaction& tx = context.transaction();
    check_scope_exists(tx, input);
    Quota quota = find_quota(tx, input.scope()).value_or(unset_quota(input.scope()));
    if (input.version && *input.version != quota.version) {
        throw ComputeError(
            ErrorCode::Conflict,
            "version: the quota has changed meanwhile",
            Json{{"reason", "version"}, {"version", quota.version}}
        );
    }
    const Limits before = std::exchange(quota.limits, std::move(input.limits.values));
    if (before == quota.limits) {
        return quota_json(tx, quota, context.now());
    }
    quota.updated_by = context.caller->identity_id.str();
    quota.updated_at = context.now();
    if (!put_quota(tx, quota)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the quota has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    if (quota.version++ == 0) {
        quota.created_at = quota.updated_at;
    }
    publish(context, tx, quota, before);
    return quota_json(tx, quota, context.now());
}

schema::Manifest<SetInput> set_manifest() {
    schema::Manifest<SetInput> manifest = quota_manifest<SetInput>();
    manifest
        .required(
            "limits",
            &SetInput::limits,
            limits_shape(),
            "a resource that is absent or null has none"
        )
        .optional(
            "version",
            &SetInput::version,
            schema::integer({.min = 0}),
            "the version the change is meant for; 0: there is none yet"
        )
        .rule([](const SetInput& input) {
            check_resources(input.limits.values, input.gpu_model.has_value());
        });
    return manifest;
}

}  // namespace

method::MethodEntry quotas_set() {
    method::Method<SetInput> set;
    set.action = "compute:quotas:set";
    set.kind = method::Kind::Mutation;
    // A tenant's own limits are decided on the fleet: an administrator of the tenant must not be
    // able to raise them.
    set.resource = [](const SetInput& input) {
        return input.project_id
                   ? method::Resource{kProjectType, input.project_id->str(), std::nullopt}
                   : method::Resource::fleet();
    };
    set.input(set_manifest());
    set.handler = handle;
    return {
        "quotas",
        "set",
        method::define_method(std::move(set)),
        method::MethodRow{
            .action = "compute:quotas:set",
            .resource_type = kProjectType,
            .alternatives = {{"compute:quotas:set", iam::kFleetType}},
            .phase = 2}};
}

}  // namespace compute::capacity
