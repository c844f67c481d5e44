// Example inputs made from a JSON Schema, to try a validator or a resource function without a
// caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

namespace compute::schema {

// Inputs that `schema` accepts: the required fields alone, then each optional field added alone,
// then all of them. Deterministic. Rules that no schema states may still refuse one; numbers take
// the lowest value, text the smallest that its pattern takes.
[[nodiscard]] std::vector<Json> sample_inputs(const Json& schema);

// The smallest text that `pattern` (RE2) matches and that has at least `min_length` bytes; nullopt
// when none is found.
[[nodiscard]] std::optional<std::string> find_matching_text(
    const std::string& pattern, std::size_t min_length
);

}  // namespace compute::schema
