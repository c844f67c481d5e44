#include <nlohmann/json.hpp>

#include "modules/capacity/expected_nodes.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

const Json kDeleted{{"deleted", true}};

Json handle(method::Context& context, PoolInput& input) {
    store::Transaction& tx = context.transaction();
    if (const auto gone = find_own_pool(tx, input.tenant_id, input.pool_id);
        gone && gone->deleted_at) {
        return kDeleted;  // repeating a delete is the same success, without a second event
    }
    Pool pool = get_pool(tx, input.tenant_id, input.pool_id, Reach::Own);
    pool.deleted_at = pool.updated_at = context.now();
    if (!mark_pool_deleted(tx, pool)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the pool has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    // After the write, which waits for a node that is just joining; a refusal undoes it.
    const std::int64_t nodes = count_joined_nodes(tx, pool.tenant_id, pool.id);
    if (nodes > 0) {
        throw ComputeError(
            ErrorCode::InvalidState, "poolId: the pool still has nodes", Json{{"nodes", nodes}}
        );
    }
    ++pool.version;
    context.authz_remove(tx, {kPoolType, pool.id.str()});
    publish_pool(context, tx, pool, "pool.deleted");
    return kDeleted;
}

}  // namespace

method::MethodEntry pools_delete() {
    method::Method<PoolInput> remove;
    remove.action = "compute:pools:delete";
    remove.kind = method::Kind::Mutation;
    remove.resource = [](const PoolInput& input) {
        return method::Resource{kPoolType, input.pool_id.str(), std::nullopt};
    };
    remove.input(pool_manifest());
    remove.handler = handle;
    return {
        "pools",
        "delete",
        method::define_method(std::move(remove)),
        method::MethodRow{
            .action = "compute:pools:delete", .resource_type = kPoolType, .alternatives = {}}};
}

}  // namespace compute::capacity
