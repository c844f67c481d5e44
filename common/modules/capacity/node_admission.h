// What becomes of an agent's hello: a node that joins with a token, or one that comes back with its
// credential. All in one transaction; a process that dies before its commit has changed nothing,
// and one that dies between the commit and the welcome has lost only the answer: the same machine
// may say the same hello again with the token it has already used, until it has shown that it holds
// the credential.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_protocol/messages.h"
#include "crypto/secret.h"
#include "method/context.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {

// The agent's fence comes this long before its node may be called lost.
inline constexpr std::int64_t kFenceMarginMs = 20'000;

struct Admitted {
    Node node;
    std::vector<NodeGpu> gpus;
    std::optional<crypto::Secret> credential;  // when it enrolled; shown once
    std::int64_t disconnected_after_ms = 0;
    std::int64_t lost_after_ms = 0;
    std::string held_by;  // the process that held the node before; empty when it is new
};

// `process` names who will hold the connection. Throws what the agent is refused with:
// UNAUTHENTICATED (token or credential), ACCESS_DENIED (a name the token does not cover), CONFLICT
// (another machine, a taken name or GPU), INVALID_STATE (not declared, or declared otherwise; being
// removed).
[[nodiscard]] Admitted admit_agent(
    const method::Runtime& runtime, const agent_protocol::Hello& hello, const std::string& process
);

}  // namespace compute::capacity
