// What is left on one node, judged by its rows, inside a transaction that holds the node: the exact
// answer behind the quick one of the placement index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "modules/capacity/bookings.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {

// What is asked of one node: atoms with their milli, and CPU and memory for all of them.
struct NodeDemand {
    struct Atom {
        std::string uuid;
        std::int64_t milli = 0;
    };
    std::vector<Atom> atoms;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
};

// The first instant in [from, to) at which the demand no longer fits beside the root bookings of
// others; `to` when it fits all the way. `others` are bookings on this node.
[[nodiscard]] EpochMs free_until(
    const Node& node,
    const std::vector<Booking>& others,
    const NodeDemand& demand,
    EpochMs from,
    EpochMs to
);

}  // namespace compute::capacity
