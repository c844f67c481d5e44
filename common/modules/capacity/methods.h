// The methods of the capacity module, one function each, in the file of its name or of its group.
#pragma once

#include <memory>
#include <vector>

#include "method/module.h"

namespace compute::capacity {

class LivePlacement;
using SharedPlacement = std::shared_ptr<LivePlacement>;

[[nodiscard]] method::MethodEntry pools_create();
[[nodiscard]] method::MethodEntry pools_get();
[[nodiscard]] method::MethodEntry pools_list();
[[nodiscard]] method::MethodEntry pools_update();
[[nodiscard]] method::MethodEntry pools_delete();
[[nodiscard]] method::MethodEntry pools_capacity(const SharedPlacement& placement);

[[nodiscard]] method::MethodEntry projects_create();
[[nodiscard]] method::MethodEntry projects_get();
[[nodiscard]] method::MethodEntry projects_list();
[[nodiscard]] method::MethodEntry projects_update();
[[nodiscard]] method::MethodEntry projects_archive();

[[nodiscard]] method::MethodEntry nodes_create_token();
[[nodiscard]] method::MethodEntry nodes_get();
[[nodiscard]] method::MethodEntry nodes_list();
[[nodiscard]] method::MethodEntry nodes_update();
[[nodiscard]] method::MethodEntry nodes_set_schedulable();
[[nodiscard]] method::MethodEntry nodes_reset_gpu();
[[nodiscard]] method::MethodEntry nodes_remove();

[[nodiscard]] method::MethodEntry reservations_create(const SharedPlacement& placement);
[[nodiscard]] method::MethodEntry reservations_preview(const SharedPlacement& placement);
[[nodiscard]] method::MethodEntry reservations_get();
[[nodiscard]] method::MethodEntry reservations_list();
[[nodiscard]] method::MethodEntry reservations_extend();
[[nodiscard]] method::MethodEntry reservations_release();

[[nodiscard]] method::MethodEntry quotas_set();
[[nodiscard]] method::MethodEntry quotas_get();
[[nodiscard]] method::MethodEntry quotas_list();

// The rows of methods that are named and decided on already but not served yet.
[[nodiscard]] std::vector<method::PlannedMethod> planned_methods();

}  // namespace compute::capacity
