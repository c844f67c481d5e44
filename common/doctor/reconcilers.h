// Whether somebody does the work behind the API: heartbeats of the reconcilers.
#pragma once

#include <vector>

#include "method/module.h"

namespace compute::doctor {

// Reconcilers of `modules` that no process runs, that have been quiet for three of their intervals,
// or whose last run failed.
[[nodiscard]] std::vector<method::Finding> check_reconcilers(
    method::CheckContext& context, const std::vector<method::Module>& modules
);

}  // namespace compute::doctor
