// Compares two JSON Schemas of an input, judging what a caller may send: whatever the first accepts
// the second must accept too.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "surface/surface.h"

namespace compute::surface {

// Appends to `out` what changed from `before` to `after`. Knows the keywords that the manifest
// builder writes, the bounds of draft 2020-12, anyOf and oneOf of one kind; any other keyword that
// is new, gone or different is breaking (rule unknown-keyword), so that nothing narrows unseen.
// Annotations (title, description, default, examples, deprecated, $comment) may change freely.
void compare_schemas(
    const Json& before,
    const Json& after,
    const std::string& method,
    const std::string& pointer,
    Comparison& out
);

// True when `before` accepts nothing that `after` refuses, as far as compare_schemas can tell.
[[nodiscard]] bool is_widening(const Json& before, const Json& after);

// `name` as one step of a JSON pointer (RFC 6901).
[[nodiscard]] std::string pointer_token(std::string_view name);

}  // namespace compute::surface
