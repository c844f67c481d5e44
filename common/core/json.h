// Strict and canonical JSON. What comes from outside is parsed here and nowhere else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.h"

namespace compute {

inline constexpr std::size_t kMaxJsonDepth = 32;

// Parses one JSON text. Refuses, as INVALID_INPUT with the reason: duplicate keys, nesting over kMaxJsonDepth,
// lone surrogates, U+0000 in a string, invalid UTF-8, comments, NaN, trailing data, numbers out of range, a byte order mark.
// A number that is a whole one (1, 1.0, 1e0, -0) becomes an integer; whole numbers beyond 2^53 are refused.
// Linear in the size of `text`; bound that first.
[[nodiscard]] Json parse_json(std::string_view text);

// The canonical form: keys sorted by code point, no white space, integers without a fraction, members whose
// value is discarded (absent) left out. Equal values give equal bytes. UTF-8.
[[nodiscard]] std::string canonical_json(const Json& value);

// Compact text of a value that we made ourselves; invalid UTF-8 in it becomes U+FFFD.
[[nodiscard]] std::string dump_json(const Json& value);

}  // namespace compute
