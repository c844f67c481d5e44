#include <algorithm>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/node_fields.h"
#include "modules/capacity/node_view.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

struct ResetGpuInput {
    TenantId tenant_id;
    NodeId node_id;
    std::string gpu;
    std::string action;
    std::optional<std::int64_t> version;
};

schema::Manifest<ResetGpuInput> reset_gpu_manifest() {
    schema::Manifest<ResetGpuInput> manifest;
    manifest.required("tenantId", &ResetGpuInput::tenant_id, schema::tenant_id())
        .required("nodeId", &ResetGpuInput::node_id, node_id_shape())
        .required(
            "gpu",
            &ResetGpuInput::gpu,
            schema::string({.pattern = "^[A-Za-z0-9._:/-]{1,96}$", .max_length = 96}),
            "its UUID"
        )
        .required(
            "action",
            &ResetGpuInput::action,
            schema::one_of({"accept-missing", "clear-health"}),
            "accept-missing: the node is expected without it from now on; clear-health: it is "
            "healthy again"
        )
        .optional(
            "version",
            &ResetGpuInput::version,
            version_shape(),
            "the version the change is meant for"
        );
    return manifest;
}

using Gpus = std::vector<NodeGpu>;

void accept_missing(
    const method::Context& context,
    store::Transaction& tx,
    Node& node,
    Gpus& gpus,
    Gpus::iterator gpu
) {
    if (gpu->health != "missing" || gpu->is_present) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "gpu: is not missing",
            Json{{"health", gpu->health}, {"present", gpu->is_present}}
        );
    }
    const auto holders = holders_on(tx, node.id, context.now(), gpu->uuid);
    if (!holders.empty()) {
        throw ComputeError(
            ErrorCode::InvalidState, "gpu: is still held", Json{{"holders", holders.size()}}
        );
    }
    delete_gpu(tx, node.tenant_id, node.id, gpu->uuid);
    gpus.erase(gpu);
    node.expected_gpus = std::max<std::int64_t>(node.expected_gpus - 1, 0);
    save_node(tx, node, context.now());
    publish_node(context, tx, node, {"node.updated", "accept-missing", 0});
}

void clear_health(
    const method::Context& context,
    store::Transaction& tx,
    Node& node,
    const Gpus& gpus,
    NodeGpu& gpu
) {
    if (gpu.health == "healthy") {
        return;  // repeating it is the same success, without a second event
    }
    if (!gpu.is_present) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "gpu: is not there",
            ErrorExtra{
                .details = std::make_shared<const Json>(Json{{"health", gpu.health}}),
                .log_detail = {},
                .hint = "put it back, or use accept-missing"}
        );
    }
    gpu.health = "healthy";
    gpu.health_since = context.now();
    gpu.xid.reset();
    update_gpu(tx, node.tenant_id, node.id, gpu);
    save_node(tx, node, context.now());
    publish_gpu(context, tx, node, "node.gpu.recovered", gpu, gpus);
}

Json handle(method::Context& context, ResetGpuInput& input) {
    store::Transaction& tx = context.transaction();
    Node node = get_node_to_change(tx, input.tenant_id, input.node_id, input.version);
    Gpus gpus = gpus_of(tx, node.tenant_id, node.id);
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const NodeGpu& one) {
        return one.uuid == input.gpu;
    });
    if (gpu == gpus.end()) {
        throw not_found("gpu: the node is not expected to have it");
    }
    if (input.action == "accept-missing") {
        accept_missing(context, tx, node, gpus, gpu);
    } else {
        clear_health(context, tx, node, gpus, *gpu);
    }
    return node_json(node, gpus);
}

}  // namespace

method::MethodEntry nodes_reset_gpu() {
    method::Method<ResetGpuInput> reset;
    reset.action = "compute:nodes:update";
    reset.kind = method::Kind::Mutation;
    reset.resource = [](const ResetGpuInput& input) {
        return method::Resource{kNodeType, input.node_id.str(), std::nullopt};
    };
    reset.input(reset_gpu_manifest());
    reset.handler = handle;
    return {
        "nodes",
        "resetGpu",
        method::define_method(std::move(reset)),
        method::MethodRow{
            .action = "compute:nodes:update",
            .resource_type = kNodeType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
