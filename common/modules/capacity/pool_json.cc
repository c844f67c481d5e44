// How a pool is shown.
#include <nlohmann/json.hpp>

#include "modules/capacity/pool.h"

namespace compute::capacity {

Json pool_json(const Pool& pool, const TenantId& viewer) {
    const PoolSettings& settings = pool.settings;
    const bool is_owner = viewer == pool.tenant_id;
    Json json{
        {"id", pool.id.str()},
        {"tenantId", pool.tenant_id.str()},
        {"name", pool.name},
        {"state", pool.deleted_at ? "deleted" : "active"},
        {"labels", settings.labels},
        {"packing", settings.packing},
        {"sharing", settings.sharing},
        {"fractionStepMilli", settings.fraction_step_milli},
        {"maxDurationSeconds", settings.max_duration_seconds},
        {"cleanupSeconds", settings.cleanup_seconds},
        {"disconnectedAfterSeconds", settings.disconnected_after_seconds},
        {"lostAfterSeconds", settings.lost_after_seconds},
        {"queue", settings.queue},
        {"shared", !is_owner},
        {"version", pool.version},
        {"createdAt", pool.created_at},
        {"updatedAt", pool.updated_at}};
    if (settings.description) {
        json["description"] = *settings.description;
    }
    if (pool.deleted_at) {
        json["deletedAt"] = *pool.deleted_at;
    }
    if (is_owner) {
        json["createdBy"] = pool.created_by;
        json["sharedWith"] = settings.shared_with;
        json["nodeGroups"] = node_groups_json(settings.node_groups);
    }
    return json;
}

}  // namespace compute::capacity
