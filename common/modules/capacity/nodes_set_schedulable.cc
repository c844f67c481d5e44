#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/node_drain.h"
#include "modules/capacity/node_fields.h"
#include "modules/capacity/losses.h"
#include "modules/capacity/node_removal.h"
#include "modules/capacity/node_view.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;

struct SetSchedulableInput {
    TenantId tenant_id;
    NodeId node_id;
    std::string mode;
    std::optional<std::int64_t> deadline_seconds;
    std::optional<std::string> reason;
    std::optional<std::int64_t> version;
};

schema::Manifest<SetSchedulableInput> manifest_of_set_schedulable() {
    schema::Manifest<SetSchedulableInput> manifest;
    manifest.required("tenantId", &SetSchedulableInput::tenant_id, schema::tenant_id())
        .required("nodeId", &SetSchedulableInput::node_id, node_id_shape())
        .required(
            "mode", &SetSchedulableInput::mode, schema::one_of({"enabled", "cordoned", "draining"})
        )
        .optional(
            "deadlineSeconds",
            &SetSchedulableInput::deadline_seconds,
            schema::integer({.min = 0, .max = 604'800}),
            "draining: when what still runs is stopped; absent: it is waited for"
        )
        .optional(
            "reason",
            &SetSchedulableInput::reason,
            schema::string({.pattern = {}, .min_length = 1, .max_length = 512}),
            "required unless enabled"
        )
        .optional(
            "version",
            &SetSchedulableInput::version,
            version_shape(),
            "the version the change is meant for"
        )
        .rule([](const SetSchedulableInput& input) {
            if (input.mode != "enabled" && !input.reason) {
                throw invalid_input("reason: Required unless mode is enabled");
            }
            if (input.mode != "draining" && input.deadline_seconds) {
                throw invalid_input("deadlineSeconds: belongs to mode draining");
            }
        });
    return manifest;
}

const char* event_of(const std::string& mode) {
    return mode == "enabled"    ? "node.enabled"
           : mode == "cordoned" ? "node.cordoned"
                                : "node.draining";
}

// Who drains again moves the deadline; repeating any other mode changes nothing but the reason.
bool is_settled(const Node& node, const SetSchedulableInput& input) {
    if (node.admin == "drained") {
        return input.mode == "draining";
    }
    return node.admin == input.mode && node.admin_reason == input.reason && !input.deadline_seconds;
}

Json handle(method::Context& context, SetSchedulableInput& input) {
    store::Transaction& tx = context.transaction();
    const EpochMs now = context.now();
    Node node = get_node_to_change(tx, input.tenant_id, input.node_id, input.version);
    const auto answer = [&] { return node_json(node, gpus_of(tx, node.tenant_id, node.id)); };
    if (is_settled(node, input)) {
        return answer();
    }
    if (node.admin == "drained" && input.mode == "cordoned") {
        throw ComputeError(
            ErrorCode::InvalidState,
            "mode: the node is drained, which lets nothing on it already; only enabled leads back",
            Json{{"admin", node.admin}}
        );
    }
    const bool is_new = node.admin != input.mode;
    node.admin = input.mode;
    node.admin_reason = input.reason;
    node.drain_deadline_at = std::nullopt;
    if (input.deadline_seconds) {
        node.drain_deadline_at = now + *input.deadline_seconds * kMsPerSecond;
    }
    save_node(tx, node, now);
    if (is_new) {
        publish_node(context, tx, node, {event_of(input.mode), input.reason, 0});
    }
    if (input.mode == "draining") {
        // What has not begun is placed elsewhere; what runs has until the deadline.
        lose_future_of_node(context, tx, node.id, now);
        drain_further(context, tx, node);
        wake_node_holders(context, tx);  // the reconciler learns of the deadline
    }
    return answer();
}

}  // namespace

method::MethodEntry nodes_set_schedulable() {
    method::Method<SetSchedulableInput> set;
    set.action = "compute:nodes:drain";
    set.kind = method::Kind::Mutation;
    set.resource = [](const SetSchedulableInput& input) {
        return method::Resource{kNodeType, input.node_id.str(), std::nullopt};
    };
    set.input(manifest_of_set_schedulable());
    set.handler = handle;
    return {
        "nodes",
        "setSchedulable",
        method::define_method(std::move(set)),
        method::MethodRow{
            .action = "compute:nodes:drain",
            .resource_type = kNodeType,
            .alternatives = {},
            .phase = 2,
            .probe = std::make_shared<const Json>(Json{
                {"tenantId", "acme"},
                {"nodeId", "node_00000000000000000000000000"},
                {"mode", "enabled"}})}};
}

}  // namespace compute::capacity
