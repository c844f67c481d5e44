// quotas.get and quotas.list, and what the quotas methods have in common.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/page.h"
#include "modules/capacity/quota_fields.h"

namespace compute::capacity {

QuotaScope QuotaInput::scope() const {
    return {
        .tenant_id = tenant_id,
        .project_id = project_id ? project_id->str() : "",
        .pool_id = pool_id ? pool_id->str() : "",
        .gpu_model = gpu_model.value_or("")};
}

void check_one_narrowing(const QuotaInput& input) {
    if (input.pool_id && input.gpu_model) {
        throw invalid_input("gpuModel: cannot be combined with poolId");
    }
}

void check_scope_exists(store::Transaction& tx, const QuotaInput& input) {
    if (input.project_id && get_project(tx, input.tenant_id, *input.project_id).archived_at) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "projectId: the project is archived",
            Json{{"state", "archived"}}
        );
    }
    if (input.pool_id) {
        (void)get_pool(tx, input.tenant_id, *input.pool_id, Reach::OwnOrShared);
    }
}

Json scope_json(const QuotaScope& scope) {
    Json json{
        {"tenantId", scope.tenant_id.str()},
        {"scope", scope.project_id.empty() ? "tenant" : "project"}};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            json[name] = value;
        }
    };
    add("projectId", scope.project_id);
    add("poolId", scope.pool_id);
    add("gpuModel", scope.gpu_model);
    return json;
}

Json quota_json(store::Transaction& tx, const Quota& quota, EpochMs now) {
    const QuotaScope& scope = quota.scope;
    Json json = scope_json(scope);
    // Unique within the tenant; a pool's id and a model cannot be mistaken for each other.
    json["id"] = (scope.project_id.empty() ? "tenant" : scope.project_id) +
                 (scope.pool_id.empty() ? "" : ":" + scope.pool_id) +
                 (scope.gpu_model.empty() ? "" : ":" + scope.gpu_model);
    json["limits"] = quota.limits;
    json["version"] = quota.version;
    if (quota.version > 0) {
        json["updatedBy"] = quota.updated_by;
        json["createdAt"] = quota.created_at;
        json["updatedAt"] = quota.updated_at;
    }
    Json& resources = json["resources"] = Json::object();
    for (const auto& [resource, usage] : quota_usage(tx, scope, now)) {
        Json& shown = resources[resource];
        const auto limit = quota.limits.find(resource);
        const bool is_limited = limit != quota.limits.end();
        shown["limit"] = is_limited ? Json(limit->second) : Json();
        shown["used"] = quantity_json(usage.used);
        const double over =
            is_limited ? std::max(0.0, usage.used - static_cast<double>(limit->second)) : 0.0;
        shown["overBy"] = quantity_json(over);
        if (usage.peak_at) {
            shown["peakAt"] = *usage.peak_at;
        }
    }
    return json;
}

namespace {

struct ListInput : QuotaInput {
    std::int64_t limit = kDefaultLimit;
    std::optional<std::string> cursor;
};

schema::Manifest<ListInput> list_manifest() {
    schema::Manifest<ListInput> manifest = quota_manifest<ListInput>();
    manifest.defaulted("limit", &ListInput::limit, limit_shape(), "default 50")
        .optional("cursor", &ListInput::cursor, cursor_shape(), "nextCursor of the page before")
        .rule([](const ListInput& input) {
            if (input.cursor) {
                (void)decode_cursor(*input.cursor, 3);
            }
        });
    return manifest;
}

Json list(method::Context& context, ListInput& input) {
    store::Transaction& tx = context.transaction();
    QuotaFilter filter;
    if (input.project_id) {
        filter.project_id = input.project_id->str();
    }
    if (input.pool_id) {
        filter.pool_id = input.pool_id->str();
    }
    filter.gpu_model = input.gpu_model;
    filter.limit = input.limit + 1;  // one more tells whether there is a next page
    if (input.cursor) {
        const auto key = decode_cursor(*input.cursor, 3);
        filter.after = QuotaScope{
            .tenant_id = input.tenant_id,
            .project_id = key[0],
            .pool_id = key[1],
            .gpu_model = key[2]};
    }
    std::vector<Quota> quotas = list_quotas(tx, input.tenant_id, filter);
    Json answer{{"items", Json::array()}};
    if (std::cmp_greater(quotas.size(), input.limit)) {
        quotas.pop_back();
        const QuotaScope& last = quotas.back().scope;
        answer["nextCursor"] = encode_cursor({last.project_id, last.pool_id, last.gpu_model});
    }
    for (const Quota& quota : quotas) {
        answer["items"].push_back(quota_json(tx, quota, context.now()));
    }
    return answer;
}

// A scope that was never given limits answers without any, so that its use can be seen.
Json get(method::Context& context, QuotaInput& input) {
    store::Transaction& tx = context.transaction();
    auto quota = find_quota(tx, input.scope());
    if (!quota) {
        if (input.project_id) {
            (void)get_project(tx, input.tenant_id, *input.project_id);
        }
        if (input.pool_id) {
            (void)get_pool(tx, input.tenant_id, *input.pool_id, Reach::OwnOrShared);
        }
        quota = unset_quota(input.scope());
    }
    return quota_json(tx, *quota, context.now());
}

template <class Input>
method::MethodEntry read_entry(
    const char* name,
    const schema::Manifest<Input>& manifest,
    Json (*handler)(method::Context&, Input&)
) {
    method::Method<Input> method;
    method.action = "compute:quotas:read";
    method.kind = method::Kind::Read;
    method.resource = [](const Input& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    method.input(manifest);
    method.handler = handler;
    return {
        "quotas",
        name,
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:quotas:read",
            .resource_type = "tenant",
            .alternatives = {},
            .phase = 2}};
}

}  // namespace

method::MethodEntry quotas_get() {
    return read_entry("get", quota_manifest<QuotaInput>(), get);
}

method::MethodEntry quotas_list() {
    return read_entry("list", list_manifest(), list);
}

}  // namespace compute::capacity
