// The expected GPUs of a node against an inventory.
#pragma once

#include <optional>
#include <vector>

#include "agent_protocol/inventory.h"
#include "modules/capacity/node_row.h"
#include "modules/capacity/node_shape.h"

namespace compute::capacity {

// What a node that joins is expected to have from now on. With a declared shape its model's name is
// the one that requests use.
[[nodiscard]] std::vector<NodeGpu> first_inventory(
    const std::optional<DeclaredShape>& declared,
    const agent_protocol::Inventory& inventory,
    EpochMs now
);

// Brings the rows of a known node up to its inventory and returns them: slots and presence are
// written, new cards taken in as long as there is room for them (the declared count, else 16).
// Nothing leaves the set. Sets `node.expected_gpus` when the set has outgrown it.
[[nodiscard]] std::vector<NodeGpu> take_inventory(
    store::Transaction& tx,
    Node& node,
    const std::optional<DeclaredShape>& declared,
    const agent_protocol::Inventory& inventory,
    EpochMs now
);

}  // namespace compute::capacity
