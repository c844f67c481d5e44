// The JSON messages of control frames. Everything that comes in is parsed strictly: unknown members
// and values out of bounds are INVALID_INPUT naming the member. `type` tells the message.
//
// An agent says hello, is welcomed or refused, and from then on sends heartbeats, each of which is
// acknowledged. What belongs to workloads (assign, stop, renew, status, open) is part of the
// protocol from the start, so that both sides tell it from nonsense; `welcome.features` says what
// the daemon does: without "workloads" it neither assigns nor takes statuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent_protocol/inventory.h"
#include "core/error.h"
#include "crypto/secret.h"

namespace compute::agent_protocol {

inline constexpr std::int64_t kVersion = 1;
inline constexpr std::size_t kMaxWorkloads = 256;

// What the agent's machine can do for workloads.
struct Abilities {
    std::string cgroup = "none";  // v2 | v1 | none
    bool has_pty = false;
    bool has_mps = false;

    static Abilities decode(const Json& value);
    [[nodiscard]] Json json() const;
};

struct Workload {
    std::string id;
    std::int64_t attempt = 0;
    std::string state;
};

struct Hello {
    std::int64_t v = kVersion;
    // Either a token with the name to join under, or the identity of a node that joined.
    std::optional<crypto::Secret> token;
    std::optional<std::string> name;
    std::optional<std::string> node_id;
    std::optional<crypto::Secret> credential;
    std::string machine_id;
    std::string boot_id;
    Inventory inventory;
    Abilities can;
    std::vector<Workload> workloads;
};

struct Heartbeat {
    std::int64_t epoch = 0;
    std::int64_t seq = 0;
    std::int64_t monotonic_ms = 0;
    std::int64_t wall_ms = 0;
    std::string inventory_hash;
    std::optional<std::vector<Gpu>> gpus;  // all that are there, when they have changed
    std::vector<Workload> workloads;       // that have changed
};

struct Status {
    std::string id;
    std::int64_t attempt = 0;
    std::string state;
    std::optional<std::int64_t> pid;
    std::optional<std::int64_t> exit_code;
    std::optional<std::int64_t> signal;
    std::optional<std::string> reason;
};

struct GpuEvent {
    std::string uuid;
    std::string kind;  // xid | fallen-off
    std::optional<std::int64_t> xid;
};

struct Welcome {
    std::string node_id;
    std::optional<crypto::Secret> credential;  // when it enrolled
    std::int64_t epoch = 0;
    std::int64_t heartbeat_ms = 0;
    std::int64_t fence_ms = 0;
    std::vector<std::string> features;
};

struct Ack {
    std::int64_t seq = 0;
    std::int64_t desired_version = 0;
    std::int64_t heartbeat_ms = 0;  // how often from now on
};

// The daemon's last word on a connection. Without a time to wait the agent need not come back with
// the same hello.
struct Refused {
    std::string code;  // as of the API's errors
    std::string message;
    std::optional<std::int64_t> retry_after_ms;
};

// What the daemon wants of a workload. An agent without "workloads" refuses it.
struct Order {
    std::string type;  // assign | stop | renew | open
    std::string id;    // of the workload; empty for open
    std::int64_t attempt = 0;
    std::uint32_t stream = 0;  // of open
};

using FromAgent = std::variant<Hello, Heartbeat, Status, GpuEvent>;
using FromDaemon = std::variant<Welcome, Ack, Refused, Order>;

// `text` is the payload of a control frame.
[[nodiscard]] FromAgent parse_from_agent(std::string_view text);
[[nodiscard]] FromDaemon parse_from_daemon(std::string_view text);

// Whole control frames.
[[nodiscard]] std::string encode(const Hello& hello);
[[nodiscard]] std::string encode(const Heartbeat& heartbeat);
[[nodiscard]] std::string encode(const Status& status);
[[nodiscard]] std::string encode(const GpuEvent& event);
[[nodiscard]] std::string encode(const Welcome& welcome);
[[nodiscard]] std::string encode(const Ack& ack);
[[nodiscard]] std::string encode(const Refused& refused);

}  // namespace compute::agent_protocol
