// The event loop of the agents' connections: one thread, one epoll set, whatever their number.
//
// It alone touches links and the watch; everybody else gives it functions to run (`post`). What
// needs the database goes to the job pool and comes back the same way. So no lock is held anywhere
// around a socket or a statement, and a heartbeat costs a parse and a few words of memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent_protocol/messages.h"
#include "core/guarded.h"
#include "daemon/agents/failure_limit.h"
#include "daemon/agents/job_pool.h"
#include "daemon/agents/link.h"
#include "modules/capacity/node_admission.h"
#include "modules/capacity/node_removal.h"
#include "modules/capacity/node_watch.h"

namespace compute::daemon::agents {

struct LoopLimits {
    std::size_t links = 65'536;
    std::size_t strangers = 4096;     // links that have not been welcomed yet
    std::int64_t hello_ms = 10'000;   // for a stranger's hello
    std::int64_t send_ms = 10'000;    // for a peer to take what waits for it
    std::int64_t closing_ms = 2000;   // for a peer to close after a refusal
    std::size_t out_bytes = 262'144;  // that may wait for one peer
    int frames_per_second = 200;      // of one agent
    int job_threads = 8;
};

struct LoopStats {
    std::size_t links = 0;
    std::size_t nodes = 0;
    std::uint64_t welcomed = 0;
    std::uint64_t refused = 0;
    std::uint64_t dropped = 0;  // for breaking the protocol or a limit
    std::uint64_t looks = 0;    // at the timers
    bool has_lease = false;     // heartbeats are acknowledged
};

class AgentLoop {
public:
    AgentLoop(const method::Runtime& runtime, LoopLimits limits);
    ~AgentLoop();
    AgentLoop(const AgentLoop&) = delete;
    AgentLoop& operator=(const AgentLoop&) = delete;

    // From any thread.
    void post(std::function<void()> function);
    void stop();
    [[nodiscard]] LoopStats stats() const;
    [[nodiscard]] FailureLimit& failures() noexcept { return failures_; }
    [[nodiscard]] bool has_room() const noexcept {
        return link_count_ < limits_.links && stranger_count_ < limits_.strangers;
    }
    // The name this process holds nodes under, and until when heartbeats may be acknowledged.
    void set_lease(std::string process, std::int64_t until_ms);

    // On the loop's thread (by post).
    void add_link(
        http::Socket socket, std::string leftover, std::string source_ip, std::string greeting
    );
    void adopt(const std::vector<capacity::WatchedNode>& nodes);
    void let_go(
        const std::vector<capacity::NodeId>& gone, const std::vector<capacity::NodeId>& cut
    );
    void let_go_of_all();
    [[nodiscard]] std::vector<std::pair<capacity::NodeId, std::int64_t>> watched() const;

private:
    // loop.cc: bytes.
    void run();
    void run_posted();
    void check_deadlines(std::int64_t now);
    void take_due_steps(std::int64_t now);
    void on_ready(Link& link, std::uint32_t events);
    bool receive(Link& link);
    void send(Link& link, std::string_view bytes);
    bool flush(Link& link);
    void watch(Link& link);
    void close_link(Link& link);
    void close_node_link(const capacity::NodeId& id);

    // speaking.cc: messages. False: the link is gone.
    bool use_frames(Link& link);
    bool use_frame(Link& link, const agent_protocol::Frame& frame);
    bool on_hello(Link& link, agent_protocol::Hello hello);
    bool on_heartbeat(Link& link, const agent_protocol::Heartbeat& heartbeat);
    bool on_gpu_event(Link& link, const agent_protocol::GpuEvent& event);
    bool on_heard(Link& link, capacity::NodeWatch::Heard heard);
    void on_admitted(
        std::uint64_t link_id,
        const std::string& process,
        const capacity::Admitted& admitted,
        const std::set<std::string>& present
    );
    void on_not_admitted(std::uint64_t link_id, const ComputeError& error);
    bool refuse(Link& link, const ComputeError& error);
    bool drop(Link& link, const ComputeError& error);
    void settle(const capacity::NodeStep& step, bool is_taken, bool is_ours);
    [[nodiscard]] std::int64_t heartbeat_ms() const;

    const method::Runtime& runtime_;
    const LoopLimits limits_;
    int epoll_ = -1;
    int wake_fd_ = -1;

    FailureLimit failures_;
    Guarded<std::vector<std::function<void()>>> posted_;
    Guarded<std::string> process_;
    std::atomic<std::int64_t> lease_until_ms_{0};
    std::atomic<bool> is_stopping_{false};
    std::atomic<std::size_t> link_count_{0};
    std::atomic<std::size_t> stranger_count_{0};
    std::atomic<std::size_t> node_count_{0};
    std::atomic<std::uint64_t> welcomed_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<std::uint64_t> looks_{0};

    // The loop's own.
    std::uint64_t next_id_ = 1;
    std::unordered_map<std::uint64_t, std::unique_ptr<Link>> links_;
    std::unordered_map<capacity::NodeId, std::uint64_t> link_of_node_;
    capacity::NodeWatch watch_;
    std::int64_t next_look_ms_ = 0;

    std::unique_ptr<JobPool> jobs_;
    std::jthread thread_;
};

}  // namespace compute::daemon::agents
