#include "modules/fleet/snapshot.h"

#include "capacity/name_list.h"
#include "core/json.h"

namespace compute::fleet {
namespace {

constexpr store::Sql kSelectPools(
    "select id, name, version, description, labels, packing, sharing, fraction_step_milli, "
    "max_duration_seconds, cleanup_seconds, shared_with, disconnected_after_seconds, "
    "lost_after_seconds, queue, node_groups "
    "from pools where tenant_id = $1 and deleted_at is null order by name"
);
constexpr store::Sql kSelectProjects(
    "select id, name, version, description, labels from projects "
    "where tenant_id = $1 and archived_at is null order by name"
);
constexpr store::Sql kSelectQuotas(
    "select project_id, pool_id, gpu_model, limits, version from quotas where tenant_id = $1 "
    "order by project_id, pool_id, gpu_model"
);
// Found by whom they are shared with.
constexpr store::Sql kSelectShared(
    "select p.tenant_id, p.name, p.id from pool_shares s join pools p on p.id = s.pool_id "
    "where s.tenant_id in ($1, '*') and p.tenant_id <> $1 and p.deleted_at is null"
);
constexpr store::Sql kCountPools(
    "select name, count(*) from pools where tenant_id = $1 group by name"
);
constexpr store::Sql kCountProjects(
    "select name, count(*) from projects where tenant_id = $1 group by name"
);
constexpr store::Sql kSelectMarks("select kind, key from fleet_objects where tenant_id = $1");
constexpr store::Sql kInsertMark(
    "insert into fleet_objects (tenant_id, kind, key, plan_hash, created_at) "
    "values ($1, $2, $3, $4, $5) on conflict do nothing"
);
constexpr store::Sql kDeleteMark(
    "delete from fleet_objects where tenant_id = $1 and kind = $2 and key = $3"
);
constexpr store::Sql kCountInPool(
    "select (select count(*) from nodes where tenant_id = $1 and pool_id = $2 and removed_at is "
    "null), "
    "(select count(*) from reservations where pool_id = $2 and state = 'pending')"
);
constexpr store::Sql kCountInProject(
    "select count(*) from reservations where tenant_id = $1 and project_id = $2 "
    "and state in ('pending', 'placed', 'active')"
);
constexpr store::Sql kSelectJoined(
    "select name from expected_nodes where tenant_id = $1 and pool_id = $2 and node_id is not "
    "null order by name"
);
constexpr store::Sql kSelectExpected(
    "select p.name, e.name from expected_nodes e join pools p on p.id = e.pool_id "
    "where e.tenant_id = $1 and p.tenant_id = $1 and p.deleted_at is null and e.node_id is null "
    "order by p.name, e.name"
);

using Labels = std::map<std::string, std::string>;
using Marks = std::set<std::pair<std::string, std::string>>;

capacity::PoolSettings read_settings(const store::Row& row) {
    capacity::PoolSettings settings;
    std::size_t at = 3;
    settings.description = row.find_text(at++);
    settings.labels = Json::parse(row.get_text(at++)).get<Labels>();
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
        settings.node_groups.push_back(capacity::NodeGroup::decode(group));
    }
    return settings;
}

// Id to name, of what a quota may refer to.
using Names = std::map<std::string, std::string>;

Names names_of(const std::map<std::string, Row>& rows) {
    Names names;
    for (const auto& [name, row] : rows) {
        names.emplace(row.id, name);
    }
    return names;
}

// What a quota's row refers to, by name; nothing when that is gone.
std::optional<std::string> find_name(const Names& names, const std::string& id) {
    if (id.empty()) {
        return "";
    }
    const auto found = names.find(id);
    return found == names.end() ? std::nullopt : std::optional(found->second);
}

void read_quotas(
    store::Transaction& tx, const TenantId& tenant, const Marks& marks, Snapshot& snapshot
) {
    const Names projects = names_of(snapshot.projects);
    Names pools = names_of(snapshot.pools);
    for (const auto& [name, id] : snapshot.shared_pools) {
        pools.emplace(id, name);
    }
    for (const store::Row& row : tx.query(kSelectQuotas, {tenant})) {
        const auto project = find_name(projects, row.get_text(0));
        const auto pool = find_name(pools, row.get_text(1));
        if (!project || !pool) {
            continue;  // nothing can be claimed there any more
        }
        QuotaRow quota{
            .project_id = row.get_text(0),
            .pool_id = row.get_text(1),
            .version = row.get_int(4),
            .is_ours = false,
            .item = {
                .project = *project,
                .pool = *pool,
                .gpu_model = row.get_text(2),
                .limits = Json::parse(row.get_text(3))}};
        quota.is_ours = marks.contains(
            {"quota", quota_key(quota.project_id, quota.pool_id, quota.item.gpu_model)}
        );
        snapshot.quotas.push_back(std::move(quota));
    }
}

std::string counted(std::int64_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

const QuotaRow* Snapshot::find_quota(const std::string& name) const {
    for (const QuotaRow& quota : quotas) {
        if (quota.item.name() == name) {
            return &quota;
        }
    }
    return nullptr;
}

Snapshot read_snapshot(store::Transaction& tx, const TenantId& tenant) {
    Snapshot snapshot;
    Marks marks;
    for (const store::Row& row : tx.query(kSelectMarks, {tenant})) {
        marks.emplace(row.get_text(0), row.get_text(1));
    }
    for (const store::Row& row : tx.query(kSelectPools, {tenant})) {
        snapshot.pools[row.get_text(1)] = {
            .id = row.get_text(0),
            .version = row.get_int(2),
            .fields = pool_fields(read_settings(row)),
            .is_ours = marks.contains({"pool", row.get_text(0)})};
    }
    for (const store::Row& row : tx.query(kSelectProjects, {tenant})) {
        snapshot.projects[row.get_text(1)] = {
            .id = row.get_text(0),
            .version = row.get_int(2),
            .fields = project_fields(row.find_text(3), Json::parse(row.get_text(4)).get<Labels>()),
            .is_ours = marks.contains({"project", row.get_text(0)})};
    }
    for (const store::Row& row : tx.query(kSelectShared, {tenant})) {
        snapshot.shared_pools[row.get_text(0) + "/" + row.get_text(1)] = row.get_text(2);
    }
    for (const store::Row& row : tx.query(kCountPools, {tenant})) {
        snapshot.pools_ever[row.get_text(0)] = row.get_int(1);
    }
    for (const store::Row& row : tx.query(kCountProjects, {tenant})) {
        snapshot.projects_ever[row.get_text(0)] = row.get_int(1);
    }
    read_quotas(tx, tenant, marks, snapshot);
    return snapshot;
}

Document document_of(const Snapshot& snapshot, const TenantId& tenant) {
    Document document;
    document.tenant_id = tenant;
    for (const auto& [name, row] : snapshot.pools) {
        document.pools.push_back({.name = name, .fields = row.fields});
    }
    for (const auto& [name, row] : snapshot.projects) {
        document.projects.push_back({.name = name, .fields = row.fields});
    }
    std::map<std::string, QuotaItem> quotas;
    for (const QuotaRow& quota : snapshot.quotas) {
        if (!quota.item.limits.empty()) {
            quotas.emplace(quota.item.name(), quota.item);
        }
    }
    for (auto& [name, item] : quotas) {
        document.quotas.push_back(std::move(item));
    }
    return document;
}

std::optional<std::string> find_reason_to_keep_pool(
    store::Transaction& tx, const TenantId& tenant, const std::string& pool_id
) {
    const store::Row row = tx.get_row(kCountInPool, {tenant, pool_id});
    if (row.get_int(0) > 0) {
        return "it still has " + counted(row.get_int(0), "node");
    }
    if (row.get_int(1) > 0) {
        return counted(row.get_int(1), "reservation") + " still wait for it";
    }
    return std::nullopt;
}

std::optional<std::string> find_reason_to_keep_project(
    store::Transaction& tx, const TenantId& tenant, const std::string& project_id
) {
    const std::int64_t claims = tx.get_row(kCountInProject, {tenant, project_id}).get_int(0);
    return claims == 0 ? std::nullopt
                       : std::optional("it still has " + counted(claims, "reservation"));
}

std::vector<std::string> joined_nodes(
    store::Transaction& tx, const TenantId& tenant, const std::string& pool_id
) {
    std::vector<std::string> names;
    for (const store::Row& row : tx.query(kSelectJoined, {tenant, pool_id})) {
        names.push_back(row.get_text(0));
    }
    return names;
}

std::map<std::string, std::vector<std::string>> expected_nodes(
    store::Transaction& tx, const TenantId& tenant
) {
    std::map<std::string, std::vector<std::string>> names;
    for (const store::Row& row : tx.query(kSelectExpected, {tenant})) {
        names[row.get_text(0)].push_back(row.get_text(1));
    }
    return names;
}

void add_mark(
    store::Transaction& tx,
    const TenantId& tenant,
    const Mark& mark,
    const std::string& plan_hash,
    EpochMs now
) {
    tx.execute(kInsertMark, {tenant, mark.kind, mark.key, plan_hash, now});
}

void remove_mark(store::Transaction& tx, const TenantId& tenant, const Mark& mark) {
    tx.execute(kDeleteMark, {tenant, mark.kind, mark.key});
}

// Ids have no slash, and the model comes last.
std::string quota_key(
    const std::string& project_id, const std::string& pool_id, const std::string& gpu_model
) {
    return project_id + "/" + pool_id + "/" + gpu_model;
}

}  // namespace compute::fleet
