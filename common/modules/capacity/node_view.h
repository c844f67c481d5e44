// How a node is shown, what policies see of it, and the events about it.
//
// Node events go to the pool's owner and, as a copy that names only their own holders, to every
// tenant with a live booking on the node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "method/context.h"
#include "modules/capacity/bookings.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {

[[nodiscard]] Json node_json(const Node& node, const std::vector<NodeGpu>& gpus);
// With who holds something on the node and on each GPU now, as ids.
[[nodiscard]] Json node_detail_json(
    store::Transaction& tx, const Node& node, const std::vector<NodeGpu>& gpus, EpochMs now
);

void project_node(const method::Context& context, store::Transaction& tx, const Node& node);

struct NodeEvent {
    std::string type;  // "node.lost"
    std::optional<std::string> reason;
    std::int64_t silent_ms = 0;  // how long nothing was heard of the agent
};
void publish_node(
    const method::Context& context, store::Transaction& tx, const Node& node, const NodeEvent& event
);
// The same for holders that were looked up before their bookings were closed.
void publish_node_to(
    const method::Context& context,
    store::Transaction& tx,
    const Node& node,
    const NodeEvent& event,
    const std::vector<Holder>& holders
);

// `gpus` are the node's, `gpu` as it is now.
void publish_gpu(
    const method::Context& context,
    store::Transaction& tx,
    const Node& node,
    const std::string& type,
    const NodeGpu& gpu,
    const std::vector<NodeGpu>& gpus
);

}  // namespace compute::capacity
