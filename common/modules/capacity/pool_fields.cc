#include "modules/capacity/pool_fields.h"

namespace compute::capacity {

schema::Shape pool_id_shape() {
    return schema::id_of(kPoolPrefix);
}

schema::Shape version_shape() {
    return schema::integer({.min = 1});
}

schema::Manifest<PoolInput> pool_manifest() {
    schema::Manifest<PoolInput> manifest;
    manifest.required("tenantId", &PoolInput::tenant_id, schema::tenant_id())
        .required("poolId", &PoolInput::pool_id, pool_id_shape());
    return manifest;
}

}  // namespace compute::capacity
