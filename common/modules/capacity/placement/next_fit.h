// When one node alone can hold a claim.
#pragma once

#include <optional>

#include "modules/capacity/placement/ask.h"

namespace compute::capacity {

// Starts in [from, before), each for `duration` ms (kEverMs: without end).
struct Starts {
    EpochMs from = 0;
    EpochMs before = kEverMs;
    EpochMs duration = 0;
};

// The first of `starts` at which the node holds all of the claim. What keeps the node from it at
// one start tells how far the next can be: each pass over a window's steps moves the start behind
// the last step that is in the way, so no start in between is missed. Every pass takes one from
// `passes`; with none left the answer is nullopt, as when there is no such start.
[[nodiscard]] std::optional<EpochMs> find_next_fit(
    const IndexedNode& node, const Ask& ask, const Starts& starts, int& passes
);

}  // namespace compute::capacity
