#include "modules/capacity/node_removal.h"

#include <nlohmann/json.hpp>

#include "modules/capacity/node_shape.h"
#include "modules/capacity/node_view.h"

namespace compute::capacity {

void wake_node_holders(const method::Context& context, store::Transaction& tx) {
    tx.after_commit([runtime = context.runtime] {
        runtime->wake.wake(kNodesChannel);
        runtime->database.notify(kNodesChannel);
    });
}

void finish_removal(
    const method::Context& context, store::Transaction& tx, Node& node, EpochMs now
) {
    node.updated_at = now;
    if (!remove_node_row(tx, node)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the node has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    forget_joined(tx, node.tenant_id, node.id.str());
    ++node.version;
    ++node.epoch;
    node.connection = "removed";
    node.connection_since = now;
    node.removing_at.reset();
    context.authz_remove(tx, {kNodeType, node.id.str()});
    publish_node(context, tx, node, {"node.removed", node.admin_reason, 0});
    wake_node_holders(context, tx);
}

}  // namespace compute::capacity
