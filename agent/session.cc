#include "agent/session.h"

#include <algorithm>
#include <variant>

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::agent {
namespace {

constexpr std::size_t kMaxHeadBytes = 16'384;
constexpr std::int64_t kFirstWaitMs = 1000;
constexpr std::int64_t kMaxWaitMs = 30'000;
constexpr std::int64_t kMaxDoublings = 5;
constexpr std::size_t kMaxUnanswered = 1024;
constexpr std::size_t kMaxEvents = 256;

// The server's answer to the Upgrade when it is no 101: its error, as far as it can be read.
agent_protocol::Refused refusal_of(std::string_view head, std::string_view body) {
    agent_protocol::Refused refused{
        "INVALID_STATE",
        "the server answered " + std::string(head.substr(0, head.find('\r'))),
        kFirstWaitMs};
    const Json json = Json::parse(body, nullptr, false);
    if (is_compute_error(json)) {
        const Json& error = json.contains("error") ? json.at("error") : json;
        refused.code = error.at("code").get<std::string>();
        refused.message = error.at("message").get<std::string>();
        refused.retry_after_ms = error.value("retryAfterMs", kFirstWaitMs);
    }
    return refused;
}

}  // namespace

Session::Session(Identity identity, std::string host, std::string target)
    : identity_(std::move(identity)), host_(std::move(host)), target_(std::move(target)) {}

void Session::set_inventory(agent_protocol::Inventory inventory) {
    inventory_hash_ = agent_protocol::inventory_hash(inventory.gpus);
    inventory_ = std::move(inventory);
}

void Session::report(agent_protocol::GpuEvent event) {
    if (events_.size() < kMaxEvents) {
        events_.push_back(std::move(event));
    }
}

void Session::begin() {
    phase_ = Phase::Upgrading;
    head_.clear();
    reader_ = {};
    refusal_.reset();
    unanswered_.clear();
    out_ = "GET " + target_ + " HTTP/1.1\r\nHost: " + host_ +
           "\r\nConnection: Upgrade\r\nUpgrade: " + std::string(agent_protocol::kUpgradeProtocol) +
           "\r\n\r\n";
}

bool Session::take(std::string_view bytes, Times now) {
    if (phase_ == Phase::Upgrading) {
        head_.append(bytes);
        return take_head(now);
    }
    reader_.feed(bytes);
    return take_frames(now);
}

bool Session::take_head(Times now) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const std::size_t end = head_.find(kEnd);
    if (end == std::string::npos) {
        if (head_.size() > kMaxHeadBytes) {
            refuse("INVALID_STATE", "the server's answer is no HTTP");
        }
        return head_.size() <= kMaxHeadBytes;
    }
    const std::string_view body = std::string_view(head_).substr(end + kEnd.size());
    if (!head_.starts_with("HTTP/1.1 101")) {
        refusal_ = refusal_of(head_, body);
        return false;
    }
    reader_.feed(body);
    head_.clear();
    say_hello(now);
    return take_frames(now);
}

bool Session::take_frames(Times now) {
    try {
        while (const auto frame = reader_.next()) {
            if (frame->type == agent_protocol::FrameType::Control) {
                on_message(agent_protocol::parse_from_daemon(frame->payload), now);
            }
            if (refusal_) {
                return false;
            }
        }
    } catch (const ComputeError& error) {
        refuse("INVALID_STATE", "the server breaks the protocol: " + error.message());
        return false;
    }
    return true;
}

void Session::refuse(std::string code, std::string message) {
    refusal_ = agent_protocol::Refused{std::move(code), std::move(message), kFirstWaitMs};
}

void Session::say_hello(Times now) {
    phase_ = Phase::Hello;
    hello_sent_ms_ = now.boot_ms;
    agent_protocol::Hello hello;
    if (identity_.credential) {
        hello.node_id = identity_.node_id;
        hello.credential = identity_.credential;
    } else {
        hello.token = identity_.token;
        hello.name = identity_.name;
    }
    hello.machine_id = identity_.machine_id;
    hello.boot_id = identity_.boot_id;
    hello.inventory = inventory_;
    hello.can = can_;
    told_hash_ = inventory_hash_;
    out_ += agent_protocol::encode(hello);
}

void Session::on_message(const agent_protocol::FromDaemon& message, Times now) {
    if (const auto* refused = std::get_if<agent_protocol::Refused>(&message)) {
        refusal_ = *refused;
    } else if (const auto* welcome = std::get_if<agent_protocol::Welcome>(&message)) {
        on_welcome(*welcome, now);
    } else if (const auto* order = std::get_if<agent_protocol::Order>(&message)) {
        on_order(*order);
    } else if (const auto* ack = std::get_if<agent_protocol::Ack>(&message)) {
        heartbeat_ms_ = ack->heartbeat_ms;
        while (!unanswered_.empty() && unanswered_.front().first <= ack->seq) {
            if (unanswered_.front().first == ack->seq) {
                fence_.hold_off(unanswered_.front().second);
            }
            unanswered_.pop_front();
        }
    }
}

void Session::on_welcome(const agent_protocol::Welcome& welcome, Times now) {
    if (phase_ != Phase::Hello) {
        refuse("INVALID_STATE", "the server welcomes twice");
        return;
    }
    phase_ = Phase::Live;
    failures_ = 0;
    identity_.node_id = welcome.node_id;
    if (welcome.credential) {
        identity_.credential = welcome.credential;
        is_credential_new_ = true;
    }
    epoch_ = welcome.epoch;
    seq_ = 0;
    heartbeat_ms_ = welcome.heartbeat_ms;
    next_heartbeat_ms_ = now.boot_ms + heartbeat_ms_;
    fence_.arm(hello_sent_ms_, welcome.fence_ms);
}

// Workloads are none of this agent's features: what is asked is refused, so that the server does
// not wait for it.
void Session::on_order(const agent_protocol::Order& order) {
    if (order.type == "open") {
        out_ += agent_protocol::encode_close(order.stream, {false, "unsupported"});
        return;
    }
    agent_protocol::Status status;
    status.id = order.id;
    status.attempt = order.attempt;
    status.state = order.type == "stop" ? "stopped" : "failed";
    if (order.type != "stop") {
        status.reason = "unsupported";
    }
    out_ += agent_protocol::encode(status);
}

void Session::send_heartbeat(Times now) {
    agent_protocol::Heartbeat heartbeat;
    heartbeat.epoch = epoch_;
    heartbeat.seq = ++seq_;
    heartbeat.monotonic_ms = now.boot_ms;
    heartbeat.wall_ms = std::max<std::int64_t>(now.wall_ms + skew_ms_, 0);
    heartbeat.inventory_hash = inventory_hash_;
    if (told_hash_ != inventory_hash_) {
        heartbeat.gpus = inventory_.gpus;
        told_hash_ = inventory_hash_;
    }
    if (unanswered_.size() == kMaxUnanswered) {
        unanswered_.pop_front();
    }
    unanswered_.emplace_back(seq_, now.boot_ms);
    out_ += agent_protocol::encode(heartbeat);
}

void Session::tick(Times now) {
    if (fence_.fires(now.boot_ms)) {
        is_fenced_now_ = true;
    }
    if (phase_ != Phase::Live) {
        return;
    }
    for (; !events_.empty(); events_.pop_front()) {
        out_ += agent_protocol::encode(events_.front());
    }
    // A change is told at once: the server counts the absence of a GPU from when it hears of it.
    if (now.boot_ms >= next_heartbeat_ms_ || told_hash_ != inventory_hash_) {
        // From now, not from when it was due: after a pause one heartbeat is enough.
        next_heartbeat_ms_ = now.boot_ms + heartbeat_ms_;
        send_heartbeat(now);
    }
}

std::int64_t Session::end(Times now, Rng& rng) {
    phase_ = Phase::Away;
    out_.clear();
    const std::int64_t doublings = std::min(failures_++, kMaxDoublings);
    const std::int64_t wait = std::min(kFirstWaitMs << doublings, kMaxWaitMs);
    // Spread over half of the wait, so that a fleet does not come back in one moment.
    const auto spread = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(wait / 2)));
    const std::int64_t asked = refusal_ ? refusal_->retry_after_ms.value_or(0) : 0;
    return now.boot_ms + std::max(wait / 2, asked) + spread;
}

}  // namespace compute::agent
