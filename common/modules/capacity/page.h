// Pages of a list: `limit`, `cursor` and `nextCursor`. A cursor holds the sort key of the last item
// shown; it grants nothing (the tenant is in every statement), so it is encoded, not signed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/manifest.h"

namespace compute::capacity {

inline constexpr std::int64_t kDefaultLimit = 50;
inline constexpr std::int64_t kMaxLimit = 200;

[[nodiscard]] schema::Shape limit_shape();
[[nodiscard]] schema::Shape cursor_shape();

// The cursor behind an item with this sort key.
[[nodiscard]] std::string encode_cursor(const std::vector<std::string>& key);
// Throws INVALID_INPUT when it is not one of ours with `parts` parts.
[[nodiscard]] std::vector<std::string> decode_cursor(std::string_view cursor, std::size_t parts);

}  // namespace compute::capacity
