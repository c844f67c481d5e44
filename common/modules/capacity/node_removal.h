// The end of a node. Without force it must hold nothing; with force it is cut off at once (its
// credential ends, nothing more is placed on it), and removed when its agent has fenced itself:
// when it is lost, or at once when it is lost already.
#pragma once

#include "method/context.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {

// Told in all processes, so that the one that holds the agent's connection lets go of it.
inline constexpr const char* kNodesChannel = "capacity_nodes";
void wake_node_holders(const method::Context& context, store::Transaction& tx);

// Removes the row, its GPUs and its projection, and says so.
void finish_removal(
    const method::Context& context, store::Transaction& tx, Node& node, EpochMs now
);

}  // namespace compute::capacity
