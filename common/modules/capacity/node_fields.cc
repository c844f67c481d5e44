#include "modules/capacity/node_fields.h"

#include <nlohmann/json.hpp>

namespace compute::capacity {
namespace {

constexpr std::size_t kMaxFabric = 128;

}  // namespace

schema::Shape node_id_shape() {
    return schema::id_of(kNodePrefix);
}

schema::Shape fabric_shape() {
    return schema::string({.pattern = {}, .min_length = 1, .max_length = kMaxFabric});
}

Node get_node_to_change(
    store::Transaction& tx,
    const TenantId& tenant,
    const NodeId& id,
    std::optional<std::int64_t> version
) {
    auto node = find_node_to_change(tx, id);
    if (!node || node->tenant_id != tenant) {
        throw not_found("nodeId: there is no such node");
    }
    if (version && *version != node->version) {
        throw ComputeError(
            ErrorCode::Conflict,
            "version: the node has changed since",
            Json{{"reason", "version"}, {"version", node->version}}
        );
    }
    return *std::move(node);
}

void save_node(store::Transaction& tx, Node& node, EpochMs now) {
    node.updated_at = now;
    if (!update_node(tx, node)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the node has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    ++node.version;
}

}  // namespace compute::capacity
