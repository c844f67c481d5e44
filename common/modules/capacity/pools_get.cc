#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {

method::MethodEntry pools_get() {
    method::Method<PoolInput> get;
    get.action = "compute:pools:read";
    get.kind = method::Kind::Read;
    get.resource = [](const PoolInput& input) {
        return method::Resource{kPoolType, input.pool_id.str(), std::nullopt};
    };
    get.input(pool_manifest());
    get.handler = [](method::Context& context, PoolInput& input) {
        return pool_json(
            get_pool(context.transaction(), input.tenant_id, input.pool_id, Reach::OwnOrShared),
            input.tenant_id
        );
    };
    return {
        "pools",
        "get",
        method::define_method(std::move(get)),
        method::MethodRow{
            .action = "compute:pools:read", .resource_type = kPoolType, .alternatives = {}}};
}

}  // namespace compute::capacity
