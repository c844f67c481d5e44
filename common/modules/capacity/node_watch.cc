#include "modules/capacity/node_watch.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace compute::capacity {
namespace {

using Kind = NodeStep::Kind;

constexpr std::int64_t kMsPerSecond = 1000;

}  // namespace

std::int64_t heartbeat_ms_for(std::size_t nodes) noexcept {
    const auto count = static_cast<std::int64_t>(nodes);
    // Rounded up: the limit is never passed.
    const std::int64_t stretched =
        (count * kMsPerSecond + kMaxHeartbeatsPerSecond - 1) / kMaxHeartbeatsPerSecond;
    return std::max(kHeartbeatMs, stretched);
}

void NodeWatch::watch(WatchedNode node, std::int64_t now_ms) {
    State state;
    state.heard_ms = now_ms;
    const NodeId id = node.id;
    state.node = std::move(node);
    // What the inventory lacks is on its way to be missing from the first sight on.
    if (!state.node.inventory_hash.empty()) {
        look_at_inventory(state, now_ms);
    }
    nodes_.insert_or_assign(id, std::move(state));
}

std::optional<std::int64_t> NodeWatch::find_epoch(const NodeId& id) const {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? std::nullopt : std::optional(found->second.node.epoch);
}

std::vector<NodeId> NodeWatch::ids() const {
    std::vector<NodeId> ids;
    ids.reserve(nodes_.size());
    for (const auto& [id, state] : nodes_) {
        ids.push_back(id);
    }
    return ids;
}

void NodeWatch::look_at_inventory(State& state, std::int64_t now_ms) {
    for (const auto& [uuid, is_missing] : state.node.gpus) {
        if (state.node.present.contains(uuid)) {
            state.absent_since.erase(uuid);
            state.confirmed_missing.erase(uuid);
            continue;
        }
        const auto [since, is_first] = state.absent_since.try_emplace(uuid, now_ms);
        if (!is_missing && !is_first && now_ms - since->second >= kMissingAfterMs) {
            state.confirmed_missing.insert(uuid);
        }
    }
}

NodeWatch::Heard NodeWatch::hear(
    const NodeId& id,
    const agent_protocol::Heartbeat& heartbeat,
    std::int64_t now_ms,
    std::int64_t wall_ms
) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) {
        return Heard::Unknown;
    }
    State& state = found->second;
    if (heartbeat.epoch != state.node.epoch) {
        return Heard::OldEpoch;
    }
    // Its agent has fenced itself by now, and must not be told that all is well.
    if (state.under_way.contains({Kind::Lose, {}})) {
        return Heard::Unknown;
    }
    if (heartbeat.gpus) {
        state.node.inventory_hash = agent_protocol::inventory_hash(*heartbeat.gpus);
        state.node.present.clear();
        for (const agent_protocol::Gpu& gpu : *heartbeat.gpus) {
            state.node.present.insert(gpu.uuid);
        }
    }
    if (heartbeat.inventory_hash != state.node.inventory_hash) {
        return Heard::NoInventory;
    }
    const std::int64_t silence = now_ms - state.heard_ms;
    state.heard_ms = now_ms;
    if (state.node.is_disconnected && !state.is_back) {
        state.is_back = true;
        state.silence_ms = silence;
    }
    look_at_inventory(state, now_ms);
    const std::int64_t skew = heartbeat.wall_ms - wall_ms;
    const bool is_off = std::abs(skew) > kMaxSkewMs;
    const bool was_off = std::abs(state.node.skew_ms) > kMaxSkewMs;
    // The row changes when the clock goes wrong, gets right, or drifts on by as much again.
    if (is_off != was_off || (is_off && std::abs(skew - state.node.skew_ms) > kMaxSkewMs)) {
        state.skew_to_note = is_off ? skew : 0;
    } else {
        state.skew_to_note.reset();
    }
    return Heard::Ok;
}

NodeWatch::Heard NodeWatch::hear(
    const NodeId& id, std::int64_t epoch, const agent_protocol::GpuEvent& event
) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) {
        return Heard::Unknown;
    }
    State& state = found->second;
    if (epoch != state.node.epoch) {
        return Heard::OldEpoch;
    }
    if (const auto gpu = state.node.gpus.find(event.uuid); gpu != state.node.gpus.end()) {
        if (event.kind == "fallen-off") {
            if (!gpu->second) {
                state.confirmed_missing.insert(event.uuid);
            }
        } else {
            state.xids[event.uuid] = *event.xid;
        }
    }
    return Heard::Ok;
}

void NodeWatch::add_due(State& state, std::int64_t now_ms, std::vector<NodeStep>& steps) {
    const WatchedNode& node = state.node;
    const std::int64_t silent = now_ms - state.heard_ms;
    const auto add = [&](NodeStep step) {
        step.tenant_id = node.tenant_id;
        step.node_id = node.id;
        step.epoch = node.epoch;
        if (state.under_way.emplace(step.kind, step.gpu).second) {
            steps.push_back(std::move(step));
        }
    };
    const auto is_under_way = [&](Kind kind) { return state.under_way.contains({kind, {}}); };
    // In order: a node is disconnected before it is lost, and is back before it is disconnected
    // again.
    if (node.is_disconnected && state.is_back) {
        if (!is_under_way(Kind::Lose)) {
            add({.kind = Kind::Reconnect, .silent_ms = state.silence_ms});
        }
    } else if (!node.is_disconnected && silent >= node.disconnected_after_ms) {
        add({.kind = Kind::Disconnect, .silent_ms = silent});
    } else if (node.is_disconnected && silent >= node.lost_after_ms) {
        add({.kind = Kind::Lose, .silent_ms = silent});
    }
    for (const auto& [uuid, xid] : state.xids) {
        add({.kind = Kind::FailGpu, .gpu = uuid, .xid = xid});
    }
    for (const std::string& uuid : state.confirmed_missing) {
        add({.kind = Kind::MissGpu, .gpu = uuid});
    }
    for (const auto& [uuid, is_missing] : node.gpus) {
        if (is_missing && node.present.contains(uuid)) {
            add({.kind = Kind::FindGpu, .gpu = uuid});
        }
    }
    if (state.skew_to_note) {
        add({.kind = Kind::NoteSkew, .skew_ms = *state.skew_to_note});
    }
}

std::vector<NodeStep> NodeWatch::take_due(std::int64_t now_ms) {
    std::vector<NodeStep> steps;
    for (auto& [id, state] : nodes_) {
        add_due(state, now_ms, steps);
    }
    return steps;
}

void NodeWatch::settle(const NodeStep& step, Outcome outcome) {
    const auto found = nodes_.find(step.node_id);
    if (found == nodes_.end() || found->second.node.epoch != step.epoch) {
        return;  // watched anew since
    }
    State& state = found->second;
    state.under_way.erase({step.kind, step.gpu});
    if (outcome == Outcome::Failed) {
        return;
    }
    switch (step.kind) {
        case Kind::Disconnect:
            state.node.is_disconnected = true;
            state.is_back = false;
            break;
        case Kind::Reconnect:
            state.node.is_disconnected = false;
            state.is_back = false;
            break;
        case Kind::Lose:
            nodes_.erase(found);
            break;
        case Kind::MissGpu:
            state.confirmed_missing.erase(step.gpu);
            state.node.gpus[step.gpu] = true;
            break;
        case Kind::FindGpu:
            // From here on an absence counts anew.
            state.node.gpus[step.gpu] = false;
            break;
        case Kind::FailGpu:
            state.xids.erase(step.gpu);
            break;
        case Kind::NoteSkew:
            state.node.skew_ms = step.skew_ms;
            break;
    }
}

}  // namespace compute::capacity
