// Node name lists: many names in one line, `gpu-[0000-0021,0037]`. At most one bracket; items are
// `N` or `A-B`. When A and B are equally wide the width is kept (leading zeros), otherwise neither
// may have a leading zero.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace compute::capacity {

inline constexpr std::size_t kMaxNamesPerList = 4096;
inline constexpr std::size_t kMaxNameListLength = 8192;

// The names of `list`, in its order. Throws INVALID_INPUT starting with `field` for a malformed
// list, a name that is no node name
// (`^[a-z][a-z0-9-]{0,62}$`), a name twice, or too many of them.
[[nodiscard]] std::vector<std::string> expand_names(std::string_view list, std::string_view field);

// The same names in the one spelling we store: bracket in the same place, items sorted, neighbours
// joined into ranges. Throws like expand_names.
[[nodiscard]] std::string canonical_names(std::string_view list, std::string_view field);

// Lists that together have exactly `names`, sorted. Names that differ only in their last number
// share a list, as far as the limits of a list allow. Names given twice count once.
[[nodiscard]] std::vector<std::string> compress_names(const std::vector<std::string>& names);

}  // namespace compute::capacity
