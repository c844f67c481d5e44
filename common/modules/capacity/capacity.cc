#include "modules/capacity/capacity.h"

#include <utility>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool.h"

namespace compute::capacity {

method::Module capacity_module() {
    method::Module module;
    module.id = "capacity";
    module.methods.push_back(pools_create());
    module.methods.push_back(pools_get());
    module.methods.push_back(pools_list());
    module.methods.push_back(pools_update());
    module.methods.push_back(pools_delete());
    module.methods.push_back(pools_capacity());
    module.planned = planned_methods();
    module.resource_types = {kPoolType};
    module.event_families = {
        {.name = "pool",
         .subject = "pool/{id}",
         .module = "capacity",
         .description = "A pool was created, changed or deleted.",
         .types = {"pool.created", "pool.updated", "pool.deleted"}},
    };
    return module;
}

}  // namespace compute::capacity
