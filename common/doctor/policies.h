// The policy documents of the embedded IAM, read as a person would before an audit.
#pragma once

#include <vector>

#include "method/module.h"

namespace compute::doctor {

// Documents that do not load (they then deny everything), and denies that match no action this
// binary has: they protect nothing. Finds nothing when the IAM is a remote one.
[[nodiscard]] std::vector<method::Finding> check_policies(
    method::CheckContext& context, const std::vector<method::Module>& modules
);

}  // namespace compute::doctor
