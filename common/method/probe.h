// The probe of the start: what resource() really decides on is compared with what the method table
// says.
#pragma once

#include <string_view>

#include "method/registry.h"

namespace compute::method {

// Whether the row of the method table allows deciding `action` on a resource of `type`: its own
// pair, or an alternative it lists.
[[nodiscard]] bool row_lists(const MethodRow& row, std::string_view action, std::string_view type);

// Runs resource() of a method with a row on placeholder inputs made from its schema (or on the
// row's own probe). INVALID_CONFIG naming the method when it decides on something else, throws, or
// takes no placeholder at all.
void probe_resource(const RegisteredMethod& method);

}  // namespace compute::method
