// Evaluates a JSON Schema on a value: the keywords that compare_schemas knows, nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

namespace compute::surface {

// Whether `schema` accepts `value`. Keywords it does not know accept everything; a pattern RE2
// cannot compile accepts nothing.
[[nodiscard]] bool schema_accepts(const Json& schema, const Json& value);

// Whether `type` (a name or a list of names; null: any) covers the type of `value`.
[[nodiscard]] bool type_accepts(const Json& type, const Json& value);

}  // namespace compute::surface
