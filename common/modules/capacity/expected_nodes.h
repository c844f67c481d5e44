// Expected nodes: the rows that node groups expand to. A node that joined keeps its row as long as
// its name is declared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "modules/capacity/pool.h"

namespace compute::capacity {

// Makes the rows of the pool those of its node groups, which check_node_groups() has expanded: new
// names are added, undeclared ones that never joined removed, the shapes of the others updated.
// INVALID_STATE with their names when nodes that joined would no longer be declared.
void write_expected_nodes(store::Transaction& tx, const Pool& pool);

// The same for a pool that has no rows yet: nothing is looked up or removed.
void declare_nodes(store::Transaction& tx, const Pool& pool);

// Removes those that never joined.
void remove_expected_nodes(store::Transaction& tx, const Pool& pool);

[[nodiscard]] std::int64_t count_joined_nodes(
    store::Transaction& tx, const TenantId& owner, const PoolId& pool_id
);

// Nodes and GPUs of one model in one fabric domain.
struct NodeTally {
    std::string gpu_model;
    std::optional<std::string> fabric;
    std::int64_t nodes = 0;
    std::int64_t joined_nodes = 0;
    std::int64_t gpus = 0;
    std::int64_t joined_gpus = 0;
};
[[nodiscard]] std::vector<NodeTally> tally_nodes(
    store::Transaction& tx, const TenantId& owner, const PoolId& pool_id
);

}  // namespace compute::capacity
