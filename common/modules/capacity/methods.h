// The methods of the capacity module, one function each, in the file of its name or of its group.
#pragma once

#include <vector>

#include "method/module.h"

namespace compute::capacity {

[[nodiscard]] method::MethodEntry pools_create();
[[nodiscard]] method::MethodEntry pools_get();
[[nodiscard]] method::MethodEntry pools_list();
[[nodiscard]] method::MethodEntry pools_update();
[[nodiscard]] method::MethodEntry pools_delete();
[[nodiscard]] method::MethodEntry pools_capacity();

[[nodiscard]] method::MethodEntry projects_create();
[[nodiscard]] method::MethodEntry projects_get();
[[nodiscard]] method::MethodEntry projects_list();
[[nodiscard]] method::MethodEntry projects_update();
[[nodiscard]] method::MethodEntry projects_archive();

[[nodiscard]] method::MethodEntry reservations_get();
[[nodiscard]] method::MethodEntry reservations_list();

// The rows of methods that are named and decided on already but not served yet.
[[nodiscard]] std::vector<method::PlannedMethod> planned_methods();

}  // namespace compute::capacity
