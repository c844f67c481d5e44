// The steps a node takes because of what its agent says or does not say. Each is one transaction:
// the row, its bookings where they are concerned, and the events.
//
// A step is taken only by the process that holds the node, from the epoch it knows: a process that
// was thought dead and comes back finds its steps refused, and so does a timer that fires while the
// agent says hello to another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "method/context.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {

struct NodeStep {
    enum class Kind {
        Disconnect,  // ready -> disconnected
        Reconnect,   // disconnected -> ready, by a heartbeat of the same epoch
        Lose,        // disconnected (or ready) -> lost; a node being removed is removed
        MissGpu,     // a GPU is missing
        FindGpu,     // a missing one is there again: shown, nothing else (see resetGpu)
        FailGpu,     // an Xid says so
        NoteSkew,    // the agent's clock is off by more than it may, or right again
    };
    Kind kind = Kind::Disconnect;
    TenantId tenant_id = {};
    NodeId node_id = {};
    std::int64_t epoch = 0;
    std::int64_t silent_ms = 0;  // since the agent was last heard
    std::string gpu = {};             // uuid
    std::int64_t xid = 0;        // 0: none
    std::int64_t skew_ms = 0;
};

enum class StepResult {
    Taken,   // or it was so already
    NotOurs  // removed, held by another process, or of another epoch: forget the node
};
// Throws the store's errors; then nothing has changed, and the step may be tried again.
StepResult take_step(
    const method::Runtime& runtime, const std::string& process, const NodeStep& step
);

}  // namespace compute::capacity
