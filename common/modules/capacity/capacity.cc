#include "modules/capacity/capacity.h"

#include <utility>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool.h"
#include "modules/capacity/project.h"

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
    module.methods.push_back(projects_create());
    module.methods.push_back(projects_get());
    module.methods.push_back(projects_list());
    module.methods.push_back(projects_update());
    module.methods.push_back(projects_archive());
    module.planned = planned_methods();
    module.resource_types = {kPoolType, kProjectType};
    module.event_families = {
        {.name = "pool",
         .subject = "pool/{id}",
         .module = "capacity",
         .description = "A pool was created, changed or deleted.",
         .types = {"pool.created", "pool.updated", "pool.deleted"}},
        {.name = "project",
         .subject = "project/{id}",
         .module = "capacity",
         .description = "A project was created, changed or archived.",
         .types = {"project.created", "project.updated", "project.archived"}},
    };
    return module;
}

}  // namespace compute::capacity
