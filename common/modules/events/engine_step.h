// The parts of Engine::step that pass from one of its phases to the next.
#pragma once

#include <unordered_set>
#include <vector>

#include "modules/events/engine.h"

namespace compute::events {

// Taken out of the shared state under the lock.
struct Engine::Plan {
    EpochMs now = 0;
    EpochMs lease_until = 0;
    int budget = 0;  // rows that may be claimed
    bool is_claiming = false;
    bool has_changes = false;
    std::vector<Settlement> settlements;
    store::IntList marks;
    store::IntList renewals;
    std::vector<ClaimLane> top_ups;
    std::vector<Release>
        drained;          // nothing of them in the loops; released unless topped up; ascending
    store::IntList held;  // when has_changes
    std::array<int, kLaneClasses> free_lanes{};
};

struct PickedLane {
    LaneRow row;
    LaneClass lane_class = LaneClass::Fast;
    LaneSecrets secrets;
};

// Found by the transaction; started anew when it runs again.
struct Engine::Outcome {
    EpochMs lease_until = 0;
    store::IntList renewed;
    std::vector<LaneRow> webhooks;  // of Plan::held
    std::vector<ClaimedRow> top_ups;
    std::unordered_set<std::int64_t> released;
    std::vector<PickedLane> picked;
    store::IntList picked_again;  // lanes in memory whose lease had run out
    std::vector<ClaimedRow> claims;
    std::vector<std::string> unreadable;  // webhook ids, for the log
    std::array<EpochMs, kLaneClasses> next_due{};
};

struct Engine::Picking {
    store::IntList expired;
    store::IntList paused;
    store::IntList deleted;
    std::vector<Release> releases;
    std::array<bool, kLaneClasses> is_drawn{};  // every due lane that nobody has locked was taken
    std::size_t count = 0;
};

}  // namespace compute::events
