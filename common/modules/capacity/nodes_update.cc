#include <algorithm>

#include <nlohmann/json.hpp>

#include "modules/capacity/bookings.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/node_fields.h"
#include "modules/capacity/node_shape.h"
#include "modules/capacity/node_view.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

struct UpdateInput {
    TenantId tenant_id;
    NodeId node_id;
    std::optional<std::int64_t> version;
    std::optional<std::map<std::string, std::string>> labels;
    std::optional<std::optional<std::string>> fabric;
    std::optional<PoolId> pool_id;
    std::optional<std::int64_t> expected_gpus;
};

schema::Manifest<UpdateInput> update_manifest() {
    schema::Manifest<UpdateInput> manifest;
    manifest.required("tenantId", &UpdateInput::tenant_id, schema::tenant_id())
        .required("nodeId", &UpdateInput::node_id, node_id_shape())
        .optional(
            "version", &UpdateInput::version, version_shape(), "the version the change is meant for"
        )
        .optional("labels", &UpdateInput::labels, schema::labels(), "replaces all of them")
        .nullable("fabric", &UpdateInput::fabric, fabric_shape())
        .optional(
            "poolId", &UpdateInput::pool_id, pool_id_shape(), "moves the node, if nothing is booked"
        )
        .optional(
            "expectedGpus",
            &UpdateInput::expected_gpus,
            schema::integer({.min = 0, .max = 16}),
            "how many GPUs the node should have"
        );
    return manifest;
}

// What a move compares with the target pool's node groups.
agent_protocol::Inventory inventory_of(const Node& node, const std::vector<NodeGpu>& gpus) {
    agent_protocol::Inventory inventory;
    inventory.cpu_milli = node.cpu_milli;
    inventory.memory_mib = node.memory_mib;
    for (const NodeGpu& gpu : gpus) {
        inventory.gpus.push_back({gpu.uuid, gpu.index, gpu.model, gpu.memory_mib, "", {}, {}});
    }
    return inventory;
}

void check_target(
    store::Transaction& tx, const Node& node, const Pool& target, const std::vector<NodeGpu>& gpus
) {
    if (find_node_by_name(tx, node.tenant_id, target.id, node.name)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "poolId: the pool has another node of this name",
            Json{{"reason", "name-taken"}, {"name", node.name}}
        );
    }
    const auto declared = find_declared(tx, node.tenant_id, target.id, node.name);
    if (!declared && has_declared(tx, node.tenant_id, target.id)) {
        throw ComputeError(
            ErrorCode::InvalidState, "poolId: the pool does not declare a node of this name"
        );
    }
    if (!declared) {
        return;
    }
    const auto lines = differences(*declared, inventory_of(node, gpus), GpuCount::FewerToo);
    if (!lines.empty()) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "poolId: the pool declares the node otherwise: " + lines.front(),
            Json{{"differences", lines}}
        );
    }
}

void move(
    store::Transaction& tx,
    Node& node,
    const PoolId& to,
    const std::vector<NodeGpu>& gpus,
    EpochMs now
) {
    const Pool target = get_pool(tx, node.tenant_id, to, Reach::Own);
    if (const std::int64_t bookings = count_bookings_on(tx, node.id, now); bookings > 0) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "poolId: a node that holds bookings cannot move",
            Json{{"bookings", bookings}}
        );
    }
    check_target(tx, node, target, gpus);
    forget_joined(tx, node.tenant_id, node.id.str());
    set_joined(tx, node.tenant_id, target.id, node.name, node.id.str());
    node.pool_id = target.id;
}

template <class T>
void change(
    T& member, const std::optional<T>& value, const char* name, std::vector<std::string>& changed
) {
    if (value && *value != member) {
        member = *value;
        changed.emplace_back(name);
    }
}

Json handle(method::Context& context, UpdateInput& input) {
    store::Transaction& tx = context.transaction();
    const EpochMs now = context.now();
    Node node = get_node_to_change(tx, input.tenant_id, input.node_id, input.version);
    const std::vector<NodeGpu> gpus = gpus_of(tx, node.tenant_id, node.id);
    std::vector<std::string> changed;
    change(node.labels, input.labels, "labels", changed);
    change(node.fabric, input.fabric, "fabric", changed);
    change(node.expected_gpus, input.expected_gpus, "expectedGpus", changed);
    if (node.expected_gpus < static_cast<std::int64_t>(gpus.size())) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "expectedGpus: the node has more GPUs",
            ErrorExtra{
                .details = std::make_shared<const Json>(Json{{"gpus", gpus.size()}}),
                .log_detail = {},
                .hint = "a GPU that is missing is given up with nodes.resetGpu"}
        );
    }
    if (input.pool_id && *input.pool_id != node.pool_id) {
        move(tx, node, *input.pool_id, gpus, now);
        changed.emplace_back("poolId");
    }
    if (changed.empty()) {
        return node_json(node, gpus);
    }
    save_node(tx, node, now);
    project_node(context, tx, node);
    std::string what;
    for (const std::string& name : changed) {
        what += (what.empty() ? "" : ", ") + name;
    }
    publish_node(context, tx, node, {"node.updated", what, 0});
    return node_json(node, gpus);
}

}  // namespace

method::MethodEntry nodes_update() {
    method::Method<UpdateInput> update;
    update.action = "compute:nodes:update";
    update.kind = method::Kind::Mutation;
    update.resource = [](const UpdateInput& input) {
        return method::Resource{kNodeType, input.node_id.str(), std::nullopt};
    };
    update.input(update_manifest());
    update.handler = handle;
    return {
        "nodes",
        "update",
        method::define_method(std::move(update)),
        method::MethodRow{
            .action = "compute:nodes:update",
            .resource_type = kNodeType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
