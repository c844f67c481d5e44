#include "modules/capacity/pool.h"

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/capacity/expected_nodes.h"

namespace compute::capacity {
namespace {

#define POOL_COLUMNS                                                                              \
    "p.id, p.tenant_id, p.name, p.description, p.labels, p.packing, p.sharing, "                  \
    "p.fraction_step_milli, "                                                                     \
    "p.max_duration_seconds, p.cleanup_seconds, p.shared_with, p.disconnected_after_seconds, "    \
    "p.lost_after_seconds, "                                                                      \
    "p.queue, p.node_groups, p.version, p.created_by, p.created_at, p.updated_at, p.deleted_at, " \
    "p.request_hash "

// $1: the tenant that looks.
#define IS_SHARED \
    "exists (select 1 from pool_shares s where s.pool_id = p.id and s.tenant_id in ($1, '*'))"

constexpr store::Sql kSelectOwn("select " POOL_COLUMNS
                                "from pools p where p.tenant_id = $1 and p.id = $2");
constexpr store::Sql kSelectShared(
    "select " POOL_COLUMNS
    "from pools p where p.id = $2 and p.deleted_at is null and p.tenant_id <> $1 and " IS_SHARED
);
constexpr store::Sql kSelectByName(
    "select id from pools where tenant_id = $1 and name = $2 and deleted_at is null"
);
constexpr store::Sql kSelectPage(
    "select " POOL_COLUMNS
    "from pools p where p.deleted_at is null and (p.tenant_id = $1 or " IS_SHARED
    ") "
    "and (cast($2 as text) is null or p.name = $2) and (cast($3 as text) is null or p.packing = "
    "$3) "
    "and (cast($4 as text) is null or p.sharing = $4) "
    "and (cast($5 as bigint) is null or (case when p.tenant_id = $1 then 0 else 1 end) = $5) "
    "and (cast($6 as text) is null or p.name > $6 or (p.name = $6 and p.id > $7)) "
    "order by p.name, p.id limit $8"
);
constexpr store::Sql kInsert(
    "insert into pools (id, tenant_id, name, description, labels, packing, sharing, "
    "fraction_step_milli, max_duration_seconds, "
    "cleanup_seconds, shared_with, disconnected_after_seconds, lost_after_seconds, queue, "
    "node_groups, version, created_by, "
    "created_at, updated_at, request_hash) "
    "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, "
    "$20) on conflict do nothing"
);
constexpr store::Sql kUpdate(
    "update pools set description = $4, labels = $5, packing = $6, sharing = $7, "
    "fraction_step_milli = $8, max_duration_seconds = $9, "
    "cleanup_seconds = $10, shared_with = $11, disconnected_after_seconds = $12, "
    "lost_after_seconds = $13, queue = $14, "
    "node_groups = $15, updated_at = $16, version = version + 1 "
    "where tenant_id = $1 and id = $2 and version = $3 and deleted_at is null"
);
constexpr store::Sql kMarkDeleted(
    "update pools set deleted_at = $4, updated_at = $4, version = version + 1 "
    "where tenant_id = $1 and id = $2 and version = $3 and deleted_at is null"
);
// Shares are found by the pool, whose owner the caller has checked; their tenant_id is the one
// shared with.
constexpr store::Sql kDeleteShares("delete from pool_shares where pool_id = $1");
constexpr store::Sql kInsertShares(
    "insert into pool_shares (tenant_id, pool_id) select value, $1 from json_each($2)",
    "insert into pool_shares (tenant_id, pool_id) select value, cast($1 as text) from "
    "unnest(cast($2 as text[])) as value"
);

Pool read_pool(const store::Row& row) {
    Pool pool;
    PoolSettings& settings = pool.settings;
    std::size_t at = 0;
    pool.id = PoolId(row.get_text(at++));
    pool.tenant_id = TenantId(row.get_text(at++));
    pool.name = row.get_text(at++);
    settings.description = row.find_text(at++);
    settings.labels = Json::parse(row.get_text(at++)).get<std::map<std::string, std::string>>();
    settings.packing = row.get_text(at++);
    settings.sharing = row.get_text(at++);
    settings.fraction_step_milli = row.get_int(at++);
    settings.max_duration_seconds = row.get_int(at++);
    settings.cleanup_seconds = row.get_int(at++);
    settings.shared_with = Json::parse(row.get_text(at++)).get<std::vector<std::string>>();
    settings.disconnected_after_seconds = row.get_int(at++);
    settings.lost_after_seconds = row.get_int(at++);
    settings.queue = row.get_text(at++);
    for (const Json& group : Json::parse(row.get_text(at++))) {
        settings.node_groups.push_back(NodeGroup::decode(group));
    }
    pool.version = row.get_int(at++);
    pool.created_by = row.get_text(at++);
    pool.created_at = row.get_int(at++);
    pool.updated_at = row.get_int(at++);
    pool.deleted_at = row.find_int(at++);
    pool.request_hash = row.find_text(at++);
    return pool;
}

void insert_shares(store::Transaction& tx, const Pool& pool) {
    const std::vector<std::string>& tenants = pool.settings.shared_with;
    if (!tenants.empty()) {
        tx.defer(kInsertShares, {pool.id, store::TextList(tenants.begin(), tenants.end())});
    }
}

// The lists that SQL sees beside the row; the caller's transaction makes it all one change.
void write_lists(store::Transaction& tx, const Pool& pool, ChangedLists lists) {
    if (lists.has_shares) {
        tx.defer(kDeleteShares, {pool.id});
        insert_shares(tx, pool);
    }
    if (lists.has_nodes) {
        write_expected_nodes(tx, pool);
    }
}

}  // namespace

std::optional<Pool> find_own_pool(
    store::Transaction& tx, const TenantId& tenant, const PoolId& id
) {
    const auto row = tx.find_row(kSelectOwn, {tenant, id});
    return row ? std::optional(read_pool(*row)) : std::nullopt;
}

Pool get_pool(store::Transaction& tx, const TenantId& tenant, const PoolId& id, Reach reach) {
    if (auto own = find_own_pool(tx, tenant, id); own && !own->deleted_at) {
        return *std::move(own);
    }
    if (reach == Reach::OwnOrShared) {
        if (const auto row = tx.find_row(kSelectShared, {tenant, id})) {
            return read_pool(*row);
        }
    }
    throw not_found("poolId: there is no such pool");
}

std::optional<PoolId> find_pool_by_name(
    store::Transaction& tx, const TenantId& tenant, const std::string& name
) {
    const auto row = tx.find_row(kSelectByName, {tenant, name});
    return row ? std::optional(PoolId(row->get_text(0))) : std::nullopt;
}

std::vector<Pool> list_pools(
    store::Transaction& tx, const TenantId& tenant, const PoolFilter& filter
) {
    const store::Rows rows = tx.query(
        kSelectPage,
        {tenant,
         filter.name,
         filter.packing,
         filter.sharing,
         filter.shared ? std::optional<std::int64_t>(*filter.shared ? 1 : 0) : std::nullopt,
         filter.after_name,
         filter.after_id,
         filter.limit}
    );
    std::vector<Pool> pools;
    pools.reserve(rows.size());
    for (const store::Row& row : rows) {
        pools.push_back(read_pool(row));
    }
    return pools;
}

bool insert_pool(store::Transaction& tx, const Pool& pool) {
    const PoolSettings& settings = pool.settings;
    const std::int64_t inserted = tx.execute(
        kInsert,
        {pool.id,
         pool.tenant_id,
         pool.name,
         settings.description,
         dump_json(settings.labels),
         settings.packing,
         settings.sharing,
         settings.fraction_step_milli,
         settings.max_duration_seconds,
         settings.cleanup_seconds,
         dump_json(settings.shared_with),
         settings.disconnected_after_seconds,
         settings.lost_after_seconds,
         settings.queue,
         dump_json(node_groups_json(settings.node_groups)),
         pool.version,
         pool.created_by,
         pool.created_at,
         pool.updated_at,
         pool.request_hash}
    );
    if (inserted == 0) {
        return false;
    }
    // The pool is new: there are no lists to replace.
    insert_shares(tx, pool);
    declare_nodes(tx, pool);
    return true;
}

bool update_pool(store::Transaction& tx, const Pool& pool, ChangedLists lists) {
    const PoolSettings& settings = pool.settings;
    const std::int64_t updated = tx.execute(
        kUpdate,
        {pool.tenant_id,
         pool.id,
         pool.version,
         settings.description,
         dump_json(settings.labels),
         settings.packing,
         settings.sharing,
         settings.fraction_step_milli,
         settings.max_duration_seconds,
         settings.cleanup_seconds,
         dump_json(settings.shared_with),
         settings.disconnected_after_seconds,
         settings.lost_after_seconds,
         settings.queue,
         dump_json(node_groups_json(settings.node_groups)),
         pool.updated_at}
    );
    if (updated == 0) {
        return false;
    }
    write_lists(tx, pool, lists);
    return true;
}

bool mark_pool_deleted(store::Transaction& tx, const Pool& pool) {
    if (tx.execute(kMarkDeleted, {pool.tenant_id, pool.id, pool.version, pool.deleted_at}) == 0) {
        return false;
    }
    tx.defer(kDeleteShares, {pool.id});
    remove_expected_nodes(tx, pool);
    return true;
}

void project_pool(const method::Context& context, store::Transaction& tx, const Pool& pool) {
    Json labels = Json::array();
    for (const auto& [key, value] : pool.settings.labels) {
        labels.push_back(key + "=" + value);
    }
    const Json attributes{
        {"name", pool.name},
        {"packing", pool.settings.packing},
        {"sharing", pool.settings.sharing},
        {"maxDurationSeconds", pool.settings.max_duration_seconds},
        {"sharedWith", pool.settings.shared_with},
        {"labels", std::move(labels)}};
    context.authz_upsert(
        tx,
        {.resource = {kPoolType, pool.id.str()},
         .tenant_id = pool.tenant_id,
         .attributes = std::make_shared<const Json>(attributes),
         .owner_id = pool.created_by,
         .pending = nullptr}
    );
}

void publish_pool(
    const method::Context& context,
    store::Transaction& tx,
    const Pool& pool,
    const std::string& type,
    const std::vector<std::string>& changed
) {
    Json data{
        {"tenantId", pool.tenant_id.str()},
        {"name", pool.name},
        {"state", pool.deleted_at ? "deleted" : "active"}};
    if (!changed.empty()) {
        data["changed"] = changed;
    }
    context.publish(
        tx,
        {.type = type,
         .tenant_id = pool.tenant_id,
         .subject = "pool/" + pool.id.str(),
         .data = std::make_shared<const Json>(std::move(data))}
    );
}

}  // namespace compute::capacity
