#include "modules/fleet/fleet.h"

namespace compute::fleet {

method::Module fleet_module() {
    method::Module module;
    module.id = "fleet";
    module.methods.push_back(fleet_export());
    module.methods.push_back(fleet_plan());
    module.methods.push_back(fleet_apply());
    module.event_families = {
        {.name = "fleet",
         .subject = "fleet/global",
         .module = "fleet",
         .description = "A fleet document was applied and changed something.",
         .types = {"fleet.applied"}},
    };
    return module;
}

}  // namespace compute::fleet
