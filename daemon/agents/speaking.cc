// What the loop makes of an agent's messages.
#include <algorithm>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "daemon/agents/loop.h"

namespace compute::daemon::agents {
namespace {

using agent_protocol::Frame;
using agent_protocol::FrameType;
using capacity::NodeWatch;

constexpr std::int64_t kMsPerSecond = 1000;
// For an agent that was refused for a reason that may pass.
constexpr std::int64_t kComeBackMs = 5000;

bool is_final(ErrorCode code) {
    return code == ErrorCode::Unauthenticated || code == ErrorCode::InvalidInput;
}

capacity::WatchedNode watched_of(
    const capacity::Admitted& admitted, std::set<std::string> present
) {
    capacity::WatchedNode node;
    node.tenant_id = admitted.node.tenant_id;
    node.id = admitted.node.id;
    node.epoch = admitted.node.epoch;
    node.disconnected_after_ms = admitted.disconnected_after_ms;
    node.lost_after_ms = admitted.lost_after_ms;
    node.skew_ms = admitted.node.clock_skew_ms;
    node.inventory_hash = admitted.node.inventory_hash;
    for (const capacity::NodeGpu& gpu : admitted.gpus) {
        node.gpus.emplace(gpu.uuid, !gpu.is_present);
    }
    node.present = std::move(present);
    return node;
}

std::set<std::string> uuids_of(const agent_protocol::Hello& hello) {
    std::set<std::string> uuids;
    for (const agent_protocol::Gpu& gpu : hello.inventory.gpus) {
        uuids.insert(gpu.uuid);
    }
    return uuids;
}

}  // namespace

std::int64_t AgentLoop::heartbeat_ms() const {
    return capacity::heartbeat_ms_for(watch_.size());
}

bool AgentLoop::use_frames(Link& link) {
    const std::uint64_t id = link.id;
    try {
        // After its hello nothing is read of a stranger until it is welcomed.
        while (link.phase == LinkPhase::Hello || link.phase == LinkPhase::Live) {
            const auto frame = link.reader.next();
            if (!frame) {
                return true;
            }
            if (!use_frame(link, *frame) || !links_.contains(id)) {
                return false;
            }
        }
    } catch (const ComputeError& error) {
        return drop(link, error);
    }
    return true;
}

bool AgentLoop::use_frame(Link& link, const Frame& frame) {
    const std::int64_t now = runtime_.clock.steady_ms();
    if (now - link.second_ms >= kMsPerSecond) {
        link.second_ms = now;
        link.frames = 0;
    }
    if (++link.frames > limits_.frames_per_second) {
        return drop(link, {ErrorCode::RateLimited, "too many frames in one second"});
    }
    if (frame.type != FrameType::Control) {
        // Streams are opened by the daemon, and it opens none: what comes on one is of no use.
        throw invalid_input("frame: the stream is not open");
    }
    auto message = agent_protocol::parse_from_agent(frame.payload);
    if (link.phase == LinkPhase::Hello) {
        auto* hello = std::get_if<agent_protocol::Hello>(&message);
        if (hello == nullptr) {
            throw invalid_input("message: must be hello");
        }
        return on_hello(link, std::move(*hello));
    }
    if (const auto* heartbeat = std::get_if<agent_protocol::Heartbeat>(&message)) {
        return on_heartbeat(link, *heartbeat);
    }
    if (const auto* event = std::get_if<agent_protocol::GpuEvent>(&message)) {
        return on_gpu_event(link, *event);
    }
    if (std::holds_alternative<agent_protocol::Hello>(message)) {
        throw invalid_input("message: hello was said already");
    }
    // A status is of a workload, and no workload was assigned: one that an earlier server knew of.
    return true;
}

bool AgentLoop::on_hello(Link& link, agent_protocol::Hello hello) {
    link.phase = LinkPhase::Admitting;
    watch(link);
    jobs_->add([this,
                id = link.id,
                process = process_.with([](const std::string& name) { return name; }),
                hello = std::move(hello)] {
        try {
            capacity::Admitted admitted = capacity::admit_agent(runtime_, hello, process);
            if (!admitted.held_by.empty() && admitted.held_by != process) {
                // The process that held the node lets go of it, connection and all.
                runtime_.database.notify(capacity::kNodesChannel);
            }
            post([this, id, process, present = uuids_of(hello), admitted = std::move(admitted)] {
                on_admitted(id, process, admitted, present);
            });
        } catch (const ComputeError& error) {
            post([this, id, error] { on_not_admitted(id, error); });
        } catch (const std::exception& error) {
            runtime_.log.error("agents.hello_failed", {{"error", error.what()}});
            post([this, id] { on_not_admitted(id, internal_error("")); });
        }
    });
    return true;
}

void AgentLoop::on_admitted(
    std::uint64_t link_id,
    const std::string& process,
    const capacity::Admitted& admitted,
    const std::set<std::string>& present
) {
    const capacity::NodeId& id = admitted.node.id;
    // Two hellos of one credential: whatever the order in which they come back from the database,
    // the later epoch stays.
    if (const auto known = watch_.find_epoch(id); known && *known > admitted.node.epoch) {
        if (const auto link = links_.find(link_id); link != links_.end()) {
            close_link(*link->second);
        }
        return;
    }
    close_node_link(id);
    const auto found = links_.find(link_id);
    // Between the question and the answer this process may have been taken for dead.
    if (process_.with([&](const std::string& name) { return name != process; })) {
        watch_.forget(id);
        if (found != links_.end()) {
            close_link(*found->second);
        }
        return;
    }
    capacity::WatchedNode node = watched_of(admitted, present);
    node.disconnected_after_ms =
        std::max(node.disconnected_after_ms, capacity::kHeartbeatsMissed * heartbeat_ms());
    // Also when the agent has gone meanwhile: its timers run from here.
    watch_.watch(std::move(node), runtime_.clock.steady_ms());
    if (found == links_.end()) {
        return;
    }
    Link& link = *found->second;
    --stranger_count_;
    link.phase = LinkPhase::Live;
    link.node = id;
    link.epoch = admitted.node.epoch;
    link_of_node_[id] = link_id;
    ++welcomed_;
    fail_point("agents.before-welcome");
    agent_protocol::Welcome welcome;
    welcome.node_id = id.str();
    welcome.credential = admitted.credential;
    welcome.epoch = admitted.node.epoch;
    welcome.heartbeat_ms = heartbeat_ms();
    welcome.fence_ms = admitted.node.fence_ms;
    welcome.features = {"gpu-events"};
    runtime_.log.info(
        "agents.welcomed",
        {{"node_id", id.str()},
         {"name", admitted.node.name},
         {"epoch", std::to_string(admitted.node.epoch)},
         {"source_ip", link.source_ip}}
    );
    send(link, agent_protocol::encode(welcome));
    if (const auto still = links_.find(link_id); still != links_.end()) {
        if (use_frames(*still->second)) {
            receive(*still->second);
        }
    }
}

void AgentLoop::on_not_admitted(std::uint64_t link_id, const ComputeError& error) {
    const auto found = links_.find(link_id);
    if (found == links_.end()) {
        return;
    }
    Link& link = *found->second;
    if (error.code() == ErrorCode::Unauthenticated) {
        failures_.count(link.source_ip, runtime_.clock.steady_ms());
    }
    refuse(link, error);
}

bool AgentLoop::on_heartbeat(Link& link, const agent_protocol::Heartbeat& heartbeat) {
    const std::int64_t now = runtime_.clock.steady_ms();
    const auto heard = watch_.hear(link.node, heartbeat, now, runtime_.clock.now_ms());
    if (heard != NodeWatch::Heard::Ok) {
        return on_heard(link, heard);
    }
    // Without the lease another process may be counting this node's silence: then its agent must
    // not believe that it was heard.
    if (now < lease_until_ms_) {
        const std::uint64_t id = link.id;
        send(link, agent_protocol::encode(agent_protocol::Ack{heartbeat.seq, 0, heartbeat_ms()}));
        return links_.contains(id);
    }
    return true;
}

bool AgentLoop::on_gpu_event(Link& link, const agent_protocol::GpuEvent& event) {
    return on_heard(link, watch_.hear(link.node, link.epoch, event));
}

bool AgentLoop::on_heard(Link& link, NodeWatch::Heard heard) {
    switch (heard) {
        case NodeWatch::Heard::Ok:
            return true;
        case NodeWatch::Heard::OldEpoch:
            return refuse(
                link, {ErrorCode::Conflict, "epoch: the node has been heard from elsewhere since"}
            );
        case NodeWatch::Heard::Unknown:
            return refuse(link, {ErrorCode::Conflict, "the node must say hello again"});
        case NodeWatch::Heard::NoInventory:
            return refuse(
                link, {ErrorCode::Conflict, "inventoryHash: is new, and the GPUs are not given"}
            );
    }
    return true;
}

// Says why and closes. The words are the error's, never the credential's.
bool AgentLoop::refuse(Link& link, const ComputeError& error) {
    const std::uint64_t id = link.id;
    if (link.phase == LinkPhase::Hello || link.phase == LinkPhase::Admitting) {
        --stranger_count_;
        runtime_.log.warning(
            "agents.refused",
            {{"code", std::string(error_info(error.code()).name)},
             {"reason", error.message()},
             {"source_ip", link.source_ip}}
        );
    }
    ++refused_;
    if (const auto found = link_of_node_.find(link.node);
        found != link_of_node_.end() && found->second == id) {
        link_of_node_.erase(found);
    }
    link.phase = LinkPhase::Closing;
    link.deadline_ms = runtime_.clock.steady_ms() + limits_.closing_ms;
    agent_protocol::Refused refused;
    refused.code = error_info(error.code()).name;
    refused.message =
        error.code() == ErrorCode::InternalError ? "something went wrong" : error.message();
    if (!is_final(error.code())) {
        refused.retry_after_ms = retry_after_ms(error).value_or(kComeBackMs);
    }
    send(link, agent_protocol::encode(refused));
    return links_.contains(id);
}

// For what no honest agent does.
bool AgentLoop::drop(Link& link, const ComputeError& error) {
    ++dropped_;
    if (link.phase == LinkPhase::Hello) {
        failures_.count(link.source_ip, runtime_.clock.steady_ms());
    }
    return refuse(link, error);
}

void AgentLoop::settle(const capacity::NodeStep& step, bool is_taken, bool is_ours) {
    using Kind = capacity::NodeStep::Kind;
    const auto epoch = watch_.find_epoch(step.node_id);
    if (!epoch || *epoch != step.epoch) {
        return;
    }
    if (is_taken && !is_ours) {
        watch_.forget(step.node_id);
        close_node_link(step.node_id);
        return;
    }
    watch_.settle(step, is_taken ? NodeWatch::Outcome::Taken : NodeWatch::Outcome::Failed);
    if (!is_taken) {
        return;
    }
    if (step.kind == Kind::Lose) {
        // Its agent has to say hello again: it comes back clean or not at all.
        close_node_link(step.node_id);
    }
    if (step.kind == Kind::Lose || step.kind == Kind::Disconnect || step.kind == Kind::Reconnect) {
        runtime_.log.info(
            step.kind == Kind::Lose         ? "agents.node_lost"
            : step.kind == Kind::Disconnect ? "agents.node_disconnected"
                                            : "agents.node_reconnected",
            {{"node_id", step.node_id.str()}, {"silent_ms", std::to_string(step.silent_ms)}}
        );
    }
}

}  // namespace compute::daemon::agents
