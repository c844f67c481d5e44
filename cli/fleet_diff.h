// A fleet plan for people: what is created (+), changed (~), removed (-) and blocked (!).
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"

namespace compute::cli {

class Console;

// Prints the answer of fleet.plan for the tenant.
void print_plan(const Json& plan, const std::string& tenant, Console& console);

// "4 to create, 1 to change".
[[nodiscard]] std::string plan_counts(const Json& plan);

// Nodes and GPUs that a list of node groups declares: "15 groups, 1213 nodes, 6212 GPUs".
[[nodiscard]] std::string groups_in_words(const Json& groups);

}  // namespace compute::cli
