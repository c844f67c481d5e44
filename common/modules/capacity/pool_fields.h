// The fields that several pools methods take, in one place so that create and update cannot drift
// apart.
#pragma once

#include <string>

#include "modules/capacity/pool.h"
#include "schema/manifest.h"

namespace compute::capacity {

[[nodiscard]] schema::Shape pool_id_shape();
[[nodiscard]] schema::Shape description_shape();
[[nodiscard]] schema::Shape version_shape();

struct PoolShapes {
    schema::Shape packing;
    schema::Shape sharing;
    schema::Shape fraction_step_milli;
    schema::Shape max_duration_seconds;
    schema::Shape cleanup_seconds;
    schema::Shape shared_with;
    schema::Shape disconnected_after_seconds;
    schema::Shape lost_after_seconds;
    schema::Shape queue;
    schema::Shape node_groups;
};
[[nodiscard]] PoolShapes pool_shapes();

// The input of the methods that name one pool and nothing else.
struct PoolInput {
    TenantId tenant_id;
    PoolId pool_id;
};
[[nodiscard]] schema::Manifest<PoolInput> pool_manifest();

}  // namespace compute::capacity
