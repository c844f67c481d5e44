// Answers about a claim that found no room, and about a pool as a whole.
#pragma once

#include <optional>
#include <vector>

#include "modules/capacity/placement/choose.h"
#include "modules/capacity/placement/request.h"

namespace compute::capacity {

// Counts the nodes by what keeps them from holding a part of the claim, in the request's window.
// earliest_start and could_ever_fit are left to the caller.
[[nodiscard]] Explanation explain(NodePool& pool, const Ask& ask, EpochMs now);

// See PlacementIndex::find_earliest_start.
[[nodiscard]] std::optional<EpochMs> find_earliest_start(
    NodePool& pool, const Ask& ask, EpochMs not_before, EpochMs now
);

[[nodiscard]] std::vector<ModelCapacity> summarize_pool(NodePool& pool, EpochMs from, EpochMs to);

}  // namespace compute::capacity
