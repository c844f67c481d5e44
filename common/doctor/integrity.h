// Whether the engine's own structures are sound, within a budget.
#pragma once

#include <vector>

#include "method/module.h"

namespace compute::doctor {

inline constexpr const char* kDatabaseCheckId = "core.database";

// SQLite: quick_check, table by table from the smallest, until the budget is spent; what was not
// read is told as an information. All of it when deep. PostgreSQL keeps its own watch; there this
// finds nothing.
[[nodiscard]] std::vector<method::Finding> check_integrity(method::CheckContext& context);

}  // namespace compute::doctor
