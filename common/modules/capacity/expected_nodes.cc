#include "modules/capacity/expected_nodes.h"

#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "modules/capacity/node_row.h"

namespace compute::capacity {
namespace {

constexpr std::size_t kNamesInAnError = 64;

constexpr store::Sql kSelectJoined(
    "select name from nodes where tenant_id = $1 and pool_id = $2 and removed_at is null order by "
    "name"
);
constexpr store::Sql kDeleteExpected(
    "delete from expected_nodes where tenant_id = $1 and pool_id = $2 and node_id is null"
);
constexpr store::Sql kInsertExpected(
    "insert into expected_nodes (pool_id, tenant_id, name, group_index, gpu_model, gpu_count, "
    "cpu_milli, memory_mib, fabric) "
    "select $1, $2, value, $3, $4, $5, $6, $7, $8 from json_each($9) where true "
    "on conflict (pool_id, name) do update set group_index = excluded.group_index, gpu_model = "
    "excluded.gpu_model, "
    "gpu_count = excluded.gpu_count, cpu_milli = excluded.cpu_milli, memory_mib = "
    "excluded.memory_mib, fabric = excluded.fabric",
    "insert into expected_nodes (pool_id, tenant_id, name, group_index, gpu_model, gpu_count, "
    "cpu_milli, memory_mib, fabric) "
    "select cast($1 as text), cast($2 as text), value, cast($3 as bigint), cast($4 as text), "
    "cast($5 as bigint), cast($6 as bigint), "
    "cast($7 as bigint), cast($8 as text) from unnest(cast($9 as text[])) as value "
    "on conflict (pool_id, name) do update set group_index = excluded.group_index, gpu_model = "
    "excluded.gpu_model, "
    "gpu_count = excluded.gpu_count, cpu_milli = excluded.cpu_milli, memory_mib = "
    "excluded.memory_mib, fabric = excluded.fabric"
);
// Nodes that joined before their names were declared.
constexpr store::Sql kFindJoined(
    "update expected_nodes set node_id = (select n.id from nodes n where n.pool_id = $2 and n.name "
    "= expected_nodes.name and n.removed_at is null) where tenant_id = $1 and pool_id = $2 and "
    "node_id is null"
);
constexpr store::Sql kTally(
    "select gpu_model, fabric, count(*), count(node_id), cast(sum(gpu_count) as bigint), "
    "cast(sum(case when node_id is null then 0 else gpu_count end) as bigint) "
    "from expected_nodes where tenant_id = $1 and pool_id = $2 group by gpu_model, fabric order by "
    "gpu_model, fabric"
);

void check_joined_stay(
    store::Transaction& tx, const Pool& pool, const std::set<std::string_view>& declared
) {
    Json lost = Json::array();
    std::int64_t count = 0;
    for (const store::Row& row : tx.query(kSelectJoined, {pool.tenant_id, pool.id})) {
        if (declared.contains(row.get_text(0))) {
            continue;
        }
        ++count;
        if (lost.size() < kNamesInAnError) {
            lost.push_back(row.get_text(0));
        }
    }
    if (count > 0) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "nodeGroups: nodes that have joined would no longer be declared",
            Json{{"count", count}, {"nodes", std::move(lost)}}
        );
    }
}

}  // namespace

void write_expected_nodes(store::Transaction& tx, const Pool& pool) {
    std::set<std::string_view> declared;
    for (const NodeGroup& group : pool.settings.node_groups) {
        declared.insert(group.expanded.begin(), group.expanded.end());
    }
    // Without groups any node may join, so none loses its place.
    if (!declared.empty()) {
        check_joined_stay(tx, pool, declared);
    }
    tx.defer(kDeleteExpected, {pool.tenant_id, pool.id});
    declare_nodes(tx, pool);
}

void declare_nodes(store::Transaction& tx, const Pool& pool) {
    for (std::size_t i = 0; i < pool.settings.node_groups.size(); ++i) {
        const NodeGroup& group = pool.settings.node_groups[i];
        tx.defer(
            kInsertExpected,
            {pool.id,
             pool.tenant_id,
             static_cast<std::int64_t>(i),
             group.gpu_model,
             group.gpu_count,
             group.cpu_milli,
             group.memory_mib,
             group.fabric,
             store::TextList(group.expanded.begin(), group.expanded.end())}
        );
    }
    tx.execute(kFindJoined, {pool.tenant_id, pool.id});
}

void remove_expected_nodes(store::Transaction& tx, const Pool& pool) {
    tx.defer(kDeleteExpected, {pool.tenant_id, pool.id});
}

std::int64_t count_joined_nodes(
    store::Transaction& tx, const TenantId& owner, const PoolId& pool_id
) {
    return count_nodes(tx, owner, pool_id);
}

std::vector<NodeTally> tally_nodes(
    store::Transaction& tx, const TenantId& owner, const PoolId& pool_id
) {
    std::vector<NodeTally> tallies;
    for (const store::Row& row : tx.query(kTally, {owner, pool_id})) {
        tallies.push_back(
            {.gpu_model = row.get_text(0),
             .fabric = row.find_text(1),
             .nodes = row.get_int(2),
             .joined_nodes = row.get_int(3),
             .gpus = row.get_int(4),
             .joined_gpus = row.get_int(5)}
        );
    }
    return tallies;
}

}  // namespace compute::capacity
