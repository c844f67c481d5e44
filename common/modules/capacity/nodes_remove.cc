#include <nlohmann/json.hpp>

#include "modules/capacity/bookings.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/node_admission.h"
#include "modules/capacity/node_fields.h"
#include "modules/capacity/node_removal.h"
#include "modules/capacity/node_view.h"

namespace compute::capacity {
namespace {

struct RemoveInput {
    TenantId tenant_id;
    NodeId node_id;
    bool is_forced = false;
};

// Cut off now, removed when its agent must have stopped everything: the step that makes it lost
// ends its bookings and the row. Repeating the call changes nothing.
void cut_off(const method::Context& context, store::Transaction& tx, Node& node) {
    if (node.removing_at) {
        return;
    }
    const bool was_ready = node.connection == "ready";
    const EpochMs now = context.now();
    node.removing_at = now + node.fence_ms + kFenceMarginMs;
    node.credential_hash.clear();
    node.token_id.reset();
    if (was_ready) {
        node.connection = "disconnected";
        node.connection_since = now;
    }
    save_node(tx, node, now);
    if (was_ready) {
        publish_node(context, tx, node, {"node.disconnected", "removed", 0});
    }
    wake_node_holders(context, tx);
}

Json handle(method::Context& context, RemoveInput& input) {
    store::Transaction& tx = context.transaction();
    Node node = get_node_to_change(tx, input.tenant_id, input.node_id);
    const EpochMs now = context.now();
    const std::int64_t bookings = count_bookings_on(tx, node.id, now);
    if (bookings == 0) {
        finish_removal(context, tx, node, now);
        return node_json(node, {});
    }
    if (!input.is_forced) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "nodeId: the node still holds bookings",
            ErrorExtra{
                .details = std::make_shared<const Json>(Json{
                    {"bookings", bookings}, {"holders", holders_on(tx, node.id, now).size()}}),
                .log_detail = {},
                .hint = "drain it first, or use force"}
        );
    }
    cut_off(context, tx, node);
    return node_json(node, gpus_of(tx, node.tenant_id, node.id));
}

}  // namespace

method::MethodEntry nodes_remove() {
    method::Method<RemoveInput> remove;
    remove.action = "compute:nodes:remove";
    remove.kind = method::Kind::Mutation;
    remove.resource = [](const RemoveInput& input) {
        return method::Resource{kNodeType, input.node_id.str(), std::nullopt};
    };
    remove.input(schema::Manifest<RemoveInput>()
                     .required("tenantId", &RemoveInput::tenant_id, schema::tenant_id())
                     .required("nodeId", &RemoveInput::node_id, node_id_shape())
                     .defaulted(
                         "force",
                         &RemoveInput::is_forced,
                         schema::boolean(),
                         "also with live bookings: the node is cut off, its claims are healed "
                         "elsewhere once its agent has stopped everything"
                     ));
    remove.handler = handle;
    return {
        "nodes",
        "remove",
        method::define_method(std::move(remove)),
        method::MethodRow{
            .action = "compute:nodes:remove",
            .resource_type = kNodeType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
