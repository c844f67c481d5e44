#include "config/suggest.h"

#include <algorithm>
#include <array>

namespace compute::config {

namespace {

constexpr std::size_t kMaxWord = 64;

// Edits, where swapping two neighbours counts as one (the commonest slip).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::array<std::array<std::size_t, kMaxWord + 1>, kMaxWord + 1> cost{};
    for (std::size_t i = 0; i <= a.size(); ++i) {
        cost[i][0] = i;
    }
    for (std::size_t j = 0; j <= b.size(); ++j) {
        cost[0][j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] =
                std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> find_nearest(
    std::string_view word, const std::vector<std::string>& candidates
) {
    word = word.substr(0, kMaxWord);
    const std::size_t limit = std::clamp<std::size_t>(word.size() / 3, 1, 4);
    std::optional<std::string> best;
    std::size_t best_distance = limit + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance =
            edit_distance(word, std::string_view(candidate).substr(0, kMaxWord));
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace compute::config
