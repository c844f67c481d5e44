// The fields that several pools methods take, in one place so that create and update cannot drift
// apart.
#pragma once

#include <string>

#include "modules/capacity/pool.h"
#include "schema/manifest.h"

namespace compute::capacity {

[[nodiscard]] schema::Shape pool_id_shape();
[[nodiscard]] schema::Shape version_shape();

// The input of the methods that name one pool and nothing else.
struct PoolInput {
    TenantId tenant_id;
    PoolId pool_id;
};
[[nodiscard]] schema::Manifest<PoolInput> pool_manifest();

}  // namespace compute::capacity
