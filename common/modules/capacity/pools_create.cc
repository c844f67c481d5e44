#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

struct CreateInput : PoolSettings {
    TenantId tenant_id;
    std::string name;
    std::optional<std::string> idempotency_key;
};

schema::Manifest<CreateInput> create_manifest() {
    schema::Manifest<CreateInput> manifest;
    manifest.required("tenantId", &CreateInput::tenant_id, schema::tenant_id());
    manifest.required("name", &CreateInput::name, schema::name());
    add_pool_settings(manifest);
    manifest.optional(
        "idempotencyKey",
        &CreateInput::idempotency_key,
        schema::idempotency_key(),
        "repeating the call with it answers the same pool"
    );
    return manifest;
}

// With a key the id is derived from it, so that a repeated call finds what the first one made,
// whoever answers it.
std::optional<PoolId> keyed_id(const method::Context& context, const CreateInput& input) {
    if (!input.idempotency_key) {
        return std::nullopt;
    }
    return PoolId(method::draft_id(
        kPoolPrefix, input.tenant_id, context.caller->identity_id, *input.idempotency_key
    ));
}

method::Prepared prepare(method::Context& context, CreateInput& input, store::Transaction& tx) {
    if (const auto id = keyed_id(context, input)) {
        if (const auto pool = find_own_pool(tx, input.tenant_id, *id)) {
            if (pool->request_hash != context.request_hash) {
                throw ComputeError(
                    ErrorCode::Conflict,
                    "idempotencyKey: was used for another request",
                    Json{{"reason", "idempotency-key-reused"}, {"poolId", pool->id.str()}}
                );
            }
            return method::Prepared::replay(pool_json(*pool, input.tenant_id));
        }
    }
    return method::Prepared::decide(method::Resource::tenant(input.tenant_id.str()));
}

// Row, lists, projection, audit row and event commit together: a process that dies before that
// leaves nothing, one that dies after it has lost only the answer, which a repeated call with the
// same key gives again.
Json handle(method::Context& context, CreateInput& input) {
    store::Transaction& tx = context.transaction();
    const auto id = keyed_id(context, input);
    const EpochMs now = context.now();
    const Pool pool{
        .id = id ? *id : PoolId(context.new_id(kPoolPrefix)),
        .tenant_id = input.tenant_id,
        .name = input.name,
        .settings = input,
        .version = 1,
        .created_by = context.caller->identity_id.str(),
        .created_at = now,
        .updated_at = now,
        .deleted_at = std::nullopt,
        .request_hash = id ? std::optional(context.request_hash) : std::nullopt,
    };
    if (!insert_pool(tx, pool)) {
        if (const auto taken = find_pool_by_name(tx, input.tenant_id, input.name);
            taken && taken != id) {
            throw ComputeError(
                ErrorCode::Conflict,
                "name: is taken by another pool",
                Json{{"reason", "name-taken"}, {"poolId", taken->str()}}
            );
        }
        // A call with the same key committed since prepare looked; repeating this one answers its
        // pool.
        throw ComputeError(
            ErrorCode::Conflict,
            "the same call has just been made",
            Json{{"reason", "concurrent-change"}}
        );
    }
    project_pool(context, tx, pool);
    publish_pool(context, tx, pool, "pool.created");
    return pool_json(pool, input.tenant_id);
}

}  // namespace

method::MethodEntry pools_create() {
    method::Method<CreateInput> create;
    create.action = "compute:pools:create";
    create.kind = method::Kind::Mutation;
    create.resource = [](const CreateInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    create.input(create_manifest());
    create.validate = [parse = std::move(create.validate)](const Json& raw) {
        CreateInput input = parse(raw);
        check_limits(input);
        check_shares(input.shared_with, input.tenant_id);
        check_node_groups(input.node_groups);
        return input;
    };
    create.handler = handle;
    create.admission.emplace();
    create.admission->prepares = method::Prepares::Lookup;
    create.admission->prepare = prepare;
    return {
        "pools",
        "create",
        method::define_method(std::move(create)),
        method::MethodRow{
            .action = "compute:pools:create", .resource_type = "tenant", .alternatives = {}}};
}

}  // namespace compute::capacity
