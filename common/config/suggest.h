// "Did you mean": the nearest of some known words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compute::config {

// The candidate with the fewest edits from `word`, when that is near enough to be a slip (a third
// of its length, at least 1, at most 4). Reads at most the first 64 bytes of each.
[[nodiscard]] std::optional<std::string> find_nearest(
    std::string_view word, const std::vector<std::string>& candidates
);

}  // namespace compute::config
