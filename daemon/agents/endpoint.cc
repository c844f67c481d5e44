#include "daemon/agents/endpoint.h"

#include <future>
#include <utility>

#include <nlohmann/json.hpp>

#include "agent_protocol/frame.h"
#include "daemon/http/stream.h"

namespace compute::daemon::agents {
namespace {

// Looks at all nodes now and then also when nobody says that one has moved: a message between
// processes may be lost.
constexpr int kBeatsPerLook = 12;
constexpr std::int64_t kFullRetryMs = 5000;

http::Answer refusal(ErrorCode code, std::string message, std::int64_t retry_after_ms) {
    return http::error_answer(
        ComputeError(code, std::move(message), Json{{"retryAfterMs", retry_after_ms}})
    );
}

}  // namespace

AgentEndpoint::AgentEndpoint(const method::Runtime& runtime, EndpointOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      holder_(runtime, options_.process),
      loop_(runtime, options_.limits) {
    keep_claim();
    subscription_ = runtime_.wake.subscribe(capacity::kNodesChannel, [this] { wake(); });
    listener_ =
        runtime_.database.listen({capacity::kNodesChannel}, [this](std::string_view) { wake(); });
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

AgentEndpoint::~AgentEndpoint() {
    stop();
}

void AgentEndpoint::stop() {
    if (std::exchange(is_stopped_, true)) {
        return;
    }
    subscription_.reset();
    listener_.reset();
    thread_.request_stop();
    thread_.join();
    loop_.stop();
    try {
        holder_.end();
    } catch (const std::exception& error) {
        // The others take over when the claim has run out.
        runtime_.log.warning("agents.claim_left", {{"error", error.what()}});
    }
}

std::optional<http::Answer> AgentEndpoint::take(
    const Offer& offer, std::unique_ptr<http::UpgradedStream>& stream
) {
    if (offer.protocol != agent_protocol::kUpgradeProtocol) {
        return http::error_answer(ComputeError(
            ErrorCode::Unsupported,
            "upgrade: must be " + std::string(agent_protocol::kUpgradeProtocol)
        ));
    }
    const auto wait_ms = loop_.failures().find_wait_ms(offer.source_ip, runtime_.clock.steady_ms());
    if (wait_ms) {
        return refusal(ErrorCode::RateLimited, "too many failed attempts", *wait_ms);
    }
    if (!loop_.has_room()) {
        return refusal(ErrorCode::RateLimited, "too many agents", kFullRetryMs);
    }
    std::string leftover = stream->take_leftover();
    // Shared, as a function that is posted must be copyable.
    auto socket = std::make_shared<http::Socket>(stream->release());
    stream.reset();
    loop_.post([this,
                socket,
                leftover = std::move(leftover),
                source_ip = offer.source_ip,
                greeting = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
                           std::string(agent_protocol::kUpgradeProtocol) +
                           "\r\nX-Request-Id: " + offer.request_id + "\r\n\r\n"] {
        loop_.add_link(std::move(*socket), leftover, source_ip, greeting);
    });
    return std::nullopt;
}

void AgentEndpoint::wake() {
    {
        const std::lock_guard lock(mutex_);
        is_woken_ = true;
    }
    changed_.notify_all();
}

void AgentEndpoint::keep_claim() {
    const capacity::NodeHolder::Round round = holder_.run();
    loop_.set_lease(holder_.process(), holder_.lease_until_ms());
    if (round.was_replaced) {
        runtime_.log.warning("agents.claim_lost", {{"process", holder_.process()}});
    }
    loop_.post([this, round] {
        if (round.was_replaced) {
            loop_.let_go_of_all();
        }
        loop_.adopt(round.adopted);
    });
}

void AgentEndpoint::look_at_nodes(const std::stop_token& stop) {
    using Nodes = std::vector<std::pair<capacity::NodeId, std::int64_t>>;
    const auto answer = std::make_shared<std::promise<Nodes>>();
    std::future<Nodes> nodes = answer->get_future();
    loop_.post([this, answer] { answer->set_value(loop_.watched()); });
    while (nodes.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        if (stop.stop_requested()) {
            return;
        }
    }
    const auto standing = holder_.look_at(nodes.get());
    if (!standing.gone.empty() || !standing.cut.empty()) {
        loop_.post([this, standing] { loop_.let_go(standing.gone, standing.cut); });
    }
}

void AgentEndpoint::run(const std::stop_token& stop) {
    int beats = 0;
    auto next_beat = std::chrono::steady_clock::now() + options_.beat;
    while (!stop.stop_requested()) {
        bool is_woken = false;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_until(lock, stop, next_beat, [this] { return is_woken_; });
            is_woken = std::exchange(is_woken_, false);
        }
        if (stop.stop_requested()) {
            return;
        }
        try {
            if (std::chrono::steady_clock::now() >= next_beat) {
                next_beat = std::chrono::steady_clock::now() + options_.beat;
                keep_claim();
                is_woken = is_woken || ++beats % kBeatsPerLook == 0;
            }
            if (is_woken) {
                look_at_nodes(stop);
            }
        } catch (const std::exception& error) {
            // The lease runs on; without it no heartbeat is acknowledged (node_holders.h).
            runtime_.log.warning("agents.claim_failed", {{"error", error.what()}});
        }
    }
}

}  // namespace compute::daemon::agents
