// The fleet module: fleet.export, fleet.plan and fleet.apply. An apply is a composite of the
// methods of other modules; this one has no SQL that changes their rows.
#pragma once

#include "method/module.h"

namespace compute::fleet {

[[nodiscard]] method::Module fleet_module();

// The methods, one function each, in the file of its name.
[[nodiscard]] method::MethodEntry fleet_export();
[[nodiscard]] method::MethodEntry fleet_plan();
[[nodiscard]] method::MethodEntry fleet_apply();

}  // namespace compute::fleet
