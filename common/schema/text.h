// Text as a caller sends it: valid UTF-8 without U+0000, counted in code points.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace compute::schema {

// How many code points `text` has; nullopt when it is not valid UTF-8 (RFC 3629: no overlong forms,
// no surrogates) or holds U+0000.
[[nodiscard]] std::optional<std::size_t> find_code_points(std::string_view text) noexcept;

}  // namespace compute::schema
