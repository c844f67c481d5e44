#include "modules/capacity/node_states.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "modules/capacity/gpu_faults.h"
#include "modules/capacity/losses.h"
#include "modules/capacity/node_removal.h"
#include "modules/capacity/node_view.h"

namespace compute::capacity {
namespace {

using Kind = NodeStep::Kind;

struct Scene {
    const method::Context& context;
    store::Transaction& tx;
    Node& node;
    const NodeStep& step;
    EpochMs now;
};

// The row was read in this transaction and locked, so the version can only differ by our own steps.
void write(const Scene& scene) {
    scene.node.updated_at = scene.now;
    if (!update_node(scene.tx, scene.node)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the node has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    ++scene.node.version;
}

void connect_as(const Scene& scene, const char* connection) {
    scene.node.connection = connection;
    scene.node.connection_since = scene.now;
    write(scene);
}

void disconnect(const Scene& scene) {
    if (scene.node.connection != "ready") {
        return;
    }
    connect_as(scene, "disconnected");
    publish_node(
        scene.context,
        scene.tx,
        scene.node,
        {"node.disconnected", "no heartbeat", scene.step.silent_ms}
    );
}

void reconnect(const Scene& scene) {
    if (scene.node.connection != "disconnected" || scene.node.removing_at) {
        return;
    }
    connect_as(scene, "ready");
    publish_node(
        scene.context,
        scene.tx,
        scene.node,
        {"node.reconnected", std::nullopt, scene.step.silent_ms}
    );
}

// One transaction for the whole node: its bookings end, their holders are marked for healing, and
// the event names how many there were.
void lose(const Scene& scene) {
    const auto holders = holders_on(scene.tx, scene.node.id, scene.now);
    connect_as(scene, "lost");
    lose_node(scene.context, scene.tx, scene.node.id);
    publish_node_to(
        scene.context,
        scene.tx,
        scene.node,
        {"node.lost", "no heartbeat", scene.step.silent_ms},
        holders
    );
    if (scene.node.removing_at) {
        finish_removal(scene.context, scene.tx, scene.node, scene.now);
    }
    fail_point("capacity.node-lost.uncommitted");
}

// Writes the GPU's new health and says so; the event's figures are those after it.
void change_health(
    const Scene& scene, std::vector<NodeGpu>& gpus, NodeGpu& gpu, const std::string& health
) {
    gpu.health = health;
    gpu.health_since = scene.now;
    if (scene.step.xid != 0) {
        gpu.xid = scene.step.xid;
    }
    if (health == "missing") {
        gpu.is_present = false;
    }
    update_gpu(scene.tx, scene.node.tenant_id, scene.node.id, gpu);
    mark_node_changed(scene.tx, scene.node.tenant_id, scene.node.id);
    const char* type = health == "missing"  ? "node.gpu.missing"
                       : health == "failed" ? "node.gpu.failed"
                                            : "node.gpu.degraded";
    publish_gpu(scene.context, scene.tx, scene.node, type, gpu, gpus);
}

void change_gpu(const Scene& scene) {
    std::vector<NodeGpu> gpus = gpus_of(scene.tx, scene.node.tenant_id, scene.node.id);
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const NodeGpu& one) {
        return one.uuid == scene.step.gpu;
    });
    if (gpu == gpus.end()) {
        return;  // given up meanwhile, or never expected
    }
    if (scene.step.kind == Kind::FindGpu) {
        if (!gpu->is_present) {
            gpu->is_present = true;
            update_gpu(scene.tx, scene.node.tenant_id, scene.node.id, *gpu);
        }
        return;
    }
    if (scene.step.kind == Kind::MissGpu && gpu->health == "missing" && gpu->is_present) {
        gpu->is_present = false;  // it had come back for a while
        update_gpu(scene.tx, scene.node.tenant_id, scene.node.id, *gpu);
        return;
    }
    const auto health = scene.step.kind == Kind::MissGpu
                            ? std::optional<std::string_view>("missing")
                            : health_after_xid(scene.step.xid);
    // Once per GPU: what is missing already is not reported again.
    if (health && is_worse_health(gpu->health, *health)) {
        change_health(scene, gpus, *gpu, std::string(*health));
    }
}

void note_skew(const Scene& scene) {
    if (scene.node.clock_skew_ms != scene.step.skew_ms) {
        scene.node.clock_skew_ms = scene.step.skew_ms;
        write(scene);
    }
}

void take(const Scene& scene) {
    switch (scene.step.kind) {
        case Kind::Disconnect:
            return disconnect(scene);
        case Kind::Reconnect:
            return reconnect(scene);
        case Kind::Lose:
            return lose(scene);
        case Kind::MissGpu:
        case Kind::FindGpu:
        case Kind::FailGpu:
            return change_gpu(scene);
        case Kind::NoteSkew:
            return note_skew(scene);
    }
}

}  // namespace

StepResult take_step(
    const method::Runtime& runtime, const std::string& process, const NodeStep& step
) {
    const method::Context context(runtime);
    return runtime.database.write(
        [&](store::Transaction& tx) {
            auto node = find_node_to_change(tx, step.node_id);
            if (!node || node->tenant_id != step.tenant_id || node->connected_to != process ||
                node->epoch != step.epoch || node->connection == "lost") {
                return StepResult::NotOurs;
            }
            take({context, tx, *node, step, context.now()});
            return StepResult::Taken;
        },
        store::Purpose::Background
    );
}

}  // namespace compute::capacity
