// Nodes as the placement index takes them, read from rows: the node, its GPUs, and what is booked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "modules/capacity/placement/placement_index.h"
#include "store/database.h"

namespace compute::capacity {

// A row of `nodes` as far as placement cares.
struct NodeChange {
    NodeState state;  // without GPUs and bookings
    bool is_removed = false;
    std::int64_t changed_in = 0;
};

// Adds GPUs and the root bookings that end later than `after` to the states, in few statements.
// Holders may be any tenant's: a node's room is what all of them leave.
void read_gpus_and_bookings(store::Transaction& tx, std::vector<NodeState>& states, EpochMs after);

// The columns a NodeChange is made of, in order.
#define NODE_CHANGE_COLUMNS                                                                    \
    "n.id, n.pool_id, n.fabric, n.connection, n.admin, n.cpu_milli, n.memory_mib, n.version, " \
    "n.changed_in"
[[nodiscard]] NodeChange node_change_of(const store::Row& row);

}  // namespace compute::capacity
