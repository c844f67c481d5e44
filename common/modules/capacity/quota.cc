#include "modules/capacity/quota.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::capacity {
namespace {

#define QUOTA_COLUMNS                                                                      \
    "tenant_id, project_id, pool_id, gpu_model, limits, version, updated_by, created_at, " \
    "updated_at "

constexpr store::Sql kSelect("select " QUOTA_COLUMNS
                             "from quotas where tenant_id = $1 and project_id = $2 and pool_id = "
                             "$3 and gpu_model = $4");
constexpr store::Sql kSelectPage(
    "select " QUOTA_COLUMNS
    "from quotas where tenant_id = $1 and limits <> '{}' "
    "and (cast($2 as text) is null or project_id = $2) "
    "and (cast($3 as text) is null or pool_id = $3) "
    "and (cast($4 as text) is null or gpu_model = $4) "
    "and (cast($5 as text) is null or (project_id, pool_id, gpu_model) > ($5, $6, $7)) "
    "order by project_id, pool_id, gpu_model limit $8"
);
constexpr store::Sql kInsert("insert into quotas (" QUOTA_COLUMNS
                             ") values ($1, $2, $3, $4, $5, 1, $6, $7, $7) on conflict do nothing");
constexpr store::Sql kUpdate(
    "update quotas set limits = $5, updated_by = $6, updated_at = $7, version = version + 1 "
    "where tenant_id = $1 and project_id = $2 and pool_id = $3 and gpu_model = $4 and version = $8"
);

Quota read_quota(const store::Row& row) {
    return {
        .scope =
            {.tenant_id = TenantId(row.get_text(0)),
             .project_id = row.get_text(1),
             .pool_id = row.get_text(2),
             .gpu_model = row.get_text(3)},
        .limits = Json::parse(row.get_text(4)).get<Limits>(),
        .version = row.get_int(5),
        .updated_by = row.get_text(6),
        .created_at = row.get_int(7),
        .updated_at = row.get_int(8)};
}

}  // namespace

std::optional<Quota> find_quota(store::Transaction& tx, const QuotaScope& scope) {
    const auto row =
        tx.find_row(kSelect, {scope.tenant_id, scope.project_id, scope.pool_id, scope.gpu_model});
    return row ? std::optional(read_quota(*row)) : std::nullopt;
}

std::vector<Quota> list_quotas(
    store::Transaction& tx, const TenantId& tenant, const QuotaFilter& filter
) {
    const auto after = [&](const std::string QuotaScope::*member) {
        return filter.after ? std::optional((*filter.after).*member) : std::nullopt;
    };
    std::vector<Quota> quotas;
    for (const store::Row& row : tx.query(
             kSelectPage,
             {tenant,
              filter.project_id,
              filter.pool_id,
              filter.gpu_model,
              after(&QuotaScope::project_id),
              after(&QuotaScope::pool_id),
              after(&QuotaScope::gpu_model),
              filter.limit}
         )) {
        quotas.push_back(read_quota(row));
    }
    return quotas;
}

bool put_quota(store::Transaction& tx, const Quota& quota) {
    const QuotaScope& scope = quota.scope;
    store::Params params{
        scope.tenant_id,
        scope.project_id,
        scope.pool_id,
        scope.gpu_model,
        dump_json(quota.limits),
        quota.updated_by,
        quota.updated_at};
    if (quota.version == 0) {
        return tx.execute(kInsert, params) == 1;
    }
    params.emplace_back(quota.version);
    return tx.execute(kUpdate, params) == 1;
}

}  // namespace compute::capacity
