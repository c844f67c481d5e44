// Where agents connect: an HTTP/1.1 Upgrade on the API listener hands the connection to a loop of
// its own (loop.h), so an agent costs a descriptor and a few hundred bytes, never a thread. A
// thread beside it keeps this process's claim on its nodes (modules/capacity/node_holders.h).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/wake.h"
#include "daemon/agents/loop.h"
#include "daemon/http/handler.h"
#include "modules/capacity/node_holders.h"

namespace compute::daemon::agents {

struct EndpointOptions {
    std::string process;  // names this process: "host:pid:start"
    LoopLimits limits;
    // How often the claim is renewed, real time.
    std::chrono::milliseconds beat{capacity::kBeatMs};
};

class AgentEndpoint final : public http::UpgradeHandler {
public:
    // Takes over the nodes that are nobody's before it returns: their timers start here. Throws the
    // store's errors. `runtime` outlives it.
    AgentEndpoint(const method::Runtime& runtime, EndpointOptions options);
    ~AgentEndpoint() override;  // stop()
    AgentEndpoint(const AgentEndpoint&) = delete;
    AgentEndpoint& operator=(const AgentEndpoint&) = delete;

    std::optional<http::Answer> take(
        const Offer& offer, std::unique_ptr<http::UpgradedStream>& stream
    ) override;

    // Closes every connection and gives the nodes up: another process, or this one's successor,
    // starts their timers anew.
    void stop();
    [[nodiscard]] LoopStats stats() const { return loop_.stats(); }

private:
    void run(const std::stop_token& stop);
    void keep_claim();
    void look_at_nodes(const std::stop_token& stop);
    void wake();

    const method::Runtime& runtime_;
    const EndpointOptions options_;
    capacity::NodeHolder holder_;
    AgentLoop loop_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool is_woken_ = false;
    bool is_stopped_ = false;
    std::unique_ptr<WakeHub::Subscription> subscription_;
    std::unique_ptr<store::Listener> listener_;
    std::jthread thread_;
};

}  // namespace compute::daemon::agents
