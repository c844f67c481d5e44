// Which process holds which nodes. A process that takes agents' connections has a row whose `beat`
// it raises every few seconds; the nodes whose agents it holds name it in `connected_to`.
//
// A beat is also a lease: who could not raise it for kLeaseMs acknowledges no heartbeat any more,
// so its agents run towards their fences. Another process takes over the nodes of one whose beat
// has stood still for kDeadAfterMs by its own monotonic clock (nobody compares wall clocks), and
// starts their timers anew. So of two processes never both can think an agent alive and lost.
//
// On SQLite there is one process: whoever stands beside it in the table is from before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "method/context.h"
#include "modules/capacity/node_watch.h"

namespace compute::capacity {

inline constexpr std::int64_t kBeatMs = 5000;
inline constexpr std::int64_t kLeaseMs = 15'000;
inline constexpr std::int64_t kDeadAfterMs = 20'000;

// One for a process; used by one thread at a time.
class NodeHolder {
public:
    NodeHolder(const method::Runtime& runtime, std::string process)
        : runtime_(runtime), base_(process), process_(std::move(process)) {}

    struct Round {
        // The row was taken over: the process has another name now, and every connection must be
        // dropped; its agents say hello again.
        bool was_replaced = false;
        // Nodes taken over in this round; their agents have yet to come.
        std::vector<WatchedNode> adopted;
    };
    // Raises the beat (the first time: makes the row), looks at the others', takes over what is
    // nobody's. Throws the store's errors; then the lease runs on.
    Round run();
    // Removes the row, so that the others need not wait.
    void end();

    // The name the nodes carry; changes only when run() says so.
    [[nodiscard]] const std::string& process() const noexcept { return process_; }
    // Until when heartbeats may be acknowledged, steady time.
    [[nodiscard]] std::int64_t lease_until_ms() const noexcept { return lease_until_ms_; }

    struct Standing {
        std::vector<NodeId> gone;  // removed, lost, held by another process or of another epoch
        std::vector<NodeId> cut;   // being removed by force: no agent speaks for it any more
    };
    // What became of the nodes given, with the epoch that this process knows.
    [[nodiscard]] Standing look_at(const std::vector<std::pair<NodeId, std::int64_t>>& nodes) const;

private:
    struct Seen {
        std::int64_t beat = 0;
        std::int64_t since_ms = 0;
    };
    [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> find_dead();

    const method::Runtime& runtime_;
    std::string base_;
    std::string process_;
    bool is_registered_ = false;
    std::int64_t names_ = 0;
    std::int64_t lease_until_ms_ = 0;
    std::map<std::string, Seen> others_;
};

}  // namespace compute::capacity
