// What this process knows of the nodes whose agents it holds: when each was last heard, and what
// follows from it. Memory and arithmetic only: no clock, no database, no socket. Times are of the
// server's monotonic clock; agents' clocks decide nothing.
//
// Whatever must be written comes out as a NodeStep; the caller takes it and tells the result. While
// a step of a node is under way no second one of the same kind comes out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent_protocol/messages.h"
#include "modules/capacity/node_states.h"

namespace compute::capacity {

inline constexpr std::int64_t kHeartbeatMs = 5000;
inline constexpr std::int64_t kMaxHeartbeatsPerSecond = 5000;
// disconnectedAfter is never less than this many heartbeats.
inline constexpr std::int64_t kHeartbeatsMissed = 4;
// A GPU is missing when two inventories this far apart lack it.
inline constexpr std::int64_t kMissingAfterMs = 10'000;
inline constexpr std::int64_t kMaxSkewMs = 2000;

// How often each of `nodes` agents may send, so that together they stay below the limit.
[[nodiscard]] std::int64_t heartbeat_ms_for(std::size_t nodes) noexcept;

struct WatchedNode {
    TenantId tenant_id;
    NodeId id;
    std::int64_t epoch = 0;
    bool is_disconnected = false;
    std::int64_t disconnected_after_ms = 0;
    std::int64_t lost_after_ms = 0;
    std::int64_t skew_ms = 0;  // as recorded
    std::string inventory_hash;
    std::map<std::string, bool> gpus;  // uuid -> is missing, as recorded
    std::set<std::string> present;     // of the inventory that has this hash
};

// Not thread-safe.
class NodeWatch {
public:
    // Watches from now on; replaces what was known of the node.
    void watch(WatchedNode node, std::int64_t now_ms);
    void forget(const NodeId& id) { nodes_.erase(id); }
    [[nodiscard]] bool has(const NodeId& id) const { return nodes_.contains(id); }
    [[nodiscard]] std::optional<std::int64_t> find_epoch(const NodeId& id) const;
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] std::vector<NodeId> ids() const;

    enum class Heard { Ok, OldEpoch, Unknown, NoInventory };
    // A heartbeat. OldEpoch, Unknown: the connection has no right to speak for the node any more.
    // NoInventory: its hash is new and the GPUs are not in it; the agent must say hello again.
    Heard hear(
        const NodeId& id,
        const agent_protocol::Heartbeat& heartbeat,
        std::int64_t now_ms,
        std::int64_t wall_ms
    );
    Heard hear(const NodeId& id, std::int64_t epoch, const agent_protocol::GpuEvent& event);

    // The steps that are due, each handed out once until it is settled.
    [[nodiscard]] std::vector<NodeStep> take_due(std::int64_t now_ms);
    // Taken: what it changed holds from now on. Failed: it comes out again.
    enum class Outcome { Taken, Failed };
    void settle(const NodeStep& step, Outcome outcome);

private:
    using Key = std::pair<NodeStep::Kind, std::string>;  // and the GPU it is about
    struct State {
        WatchedNode node;
        std::int64_t heard_ms = 0;
        std::int64_t silence_ms = 0;  // before the heartbeat that ended it
        bool is_back = false;         // heard since it was disconnected
        std::map<std::string, std::int64_t> absent_since;
        std::set<std::string> confirmed_missing;
        std::map<std::string, std::int64_t> xids;  // by GPU, to be written
        std::optional<std::int64_t> skew_to_note;
        std::set<Key> under_way;
    };
    void look_at_inventory(State& state, std::int64_t now_ms);
    void add_due(State& state, std::int64_t now_ms, std::vector<NodeStep>& steps);

    std::unordered_map<NodeId, State> nodes_;
};

}  // namespace compute::capacity
