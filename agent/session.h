// What one node says and hears, connection after connection, without a socket and without a clock:
// bytes and times go in, bytes come out.
//
// A connection begins as HTTP and leaves it by an Upgrade; then comes the hello, with the token the
// first time and with the credential ever after.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/fence.h"
#include "agent_protocol/frame.h"
#include "agent_protocol/messages.h"
#include "core/rng.h"

namespace compute::agent {

struct Identity {
    std::string name;
    std::string machine_id;
    std::string boot_id;
    std::optional<crypto::Secret> token;
    // Once it has joined.
    std::optional<std::string> node_id;
    std::optional<crypto::Secret> credential;
};

struct Times {
    std::int64_t boot_ms = 0;  // CLOCK_BOOTTIME; orders everything here
    std::int64_t wall_ms = 0;
};

class Session {
public:
    // `host` and `target` of the server's connect address.
    Session(Identity identity, std::string host, std::string target);

    // Of the machine; a change is told with the next heartbeat.
    void set_inventory(agent_protocol::Inventory inventory);
    void set_abilities(agent_protocol::Abilities can) { can_ = std::move(can); }
    void set_skew(std::int64_t skew_ms) { skew_ms_ = skew_ms; }  // added to the wall clock
    void report(agent_protocol::GpuEvent event);
    // From the next hello on it joins with its token.
    void forget_credential() {
        identity_.credential.reset();
        identity_.node_id.reset();
    }

    // A connection stands: what to send first.
    void begin();
    // Bytes came. False: the connection is of no use any more, see refusal().
    [[nodiscard]] bool take(std::string_view bytes, Times now);
    // The connection has ended, or could not be made. Says when to try again.
    [[nodiscard]] std::int64_t end(Times now, Rng& rng);
    // Something may be due: a heartbeat, the fence. Call it at least every 100 ms.
    void tick(Times now);

    // What is to be sent; the caller takes it.
    [[nodiscard]] std::string take_output() { return std::exchange(out_, {}); }
    [[nodiscard]] bool is_live() const noexcept { return phase_ == Phase::Live; }
    [[nodiscard]] const Identity& identity() const noexcept { return identity_; }
    [[nodiscard]] std::int64_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] const Fence& fence() const noexcept { return fence_; }
    // A credential that has just been given, once: it must be stored before anything else.
    [[nodiscard]] bool take_new_credential() { return std::exchange(is_credential_new_, false); }
    // Why the last connection ended, when the server said so.
    [[nodiscard]] const std::optional<agent_protocol::Refused>& refusal() const noexcept {
        return refusal_;
    }
    // True once after the fence has fired: kill everything.
    [[nodiscard]] bool take_fenced() { return std::exchange(is_fenced_now_, false); }

private:
    enum class Phase { Away, Upgrading, Hello, Live };
    [[nodiscard]] bool take_head(Times now);
    [[nodiscard]] bool take_frames(Times now);
    void on_message(const agent_protocol::FromDaemon& message, Times now);
    void on_welcome(const agent_protocol::Welcome& welcome, Times now);
    void on_order(const agent_protocol::Order& order);
    void say_hello(Times now);
    void send_heartbeat(Times now);
    void refuse(std::string code, std::string message);

    Identity identity_;
    std::string host_;
    std::string target_;
    agent_protocol::Inventory inventory_;
    std::string inventory_hash_;
    agent_protocol::Abilities can_;
    std::int64_t skew_ms_ = 0;

    Phase phase_ = Phase::Away;
    std::string head_;
    agent_protocol::FrameReader reader_;
    std::string out_;
    std::optional<agent_protocol::Refused> refusal_;
    std::int64_t failures_ = 0;  // connections in a row that did not get to a welcome

    std::int64_t hello_sent_ms_ = 0;
    std::int64_t epoch_ = 0;
    std::int64_t seq_ = 0;
    std::int64_t heartbeat_ms_ = 0;
    std::int64_t next_heartbeat_ms_ = 0;
    std::string told_hash_;  // of the inventory the server knows
    std::deque<std::pair<std::int64_t, std::int64_t>> unanswered_;  // seq, when it was sent
    std::deque<agent_protocol::GpuEvent> events_;                   // that wait for a connection
    bool is_credential_new_ = false;
    bool is_fenced_now_ = false;
    Fence fence_;
};

}  // namespace compute::agent
