// A GPU trace as two CSV files (nodes; requests) and the drawing of requests from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "modules/capacity/placement/placement_index.h"

namespace compute::bench {

// The nodes of an `openb` node list, with health and without bookings. `copy` makes further copies
// of the fleet, with names and GPU ids of their own.
[[nodiscard]] std::vector<capacity::NodeState> read_nodes(const std::string& path, int copy = 0);

struct TraceRequests {
    std::vector<capacity::PlacementRequest> requests;  // those that ask for GPUs
    std::int64_t cpu_only = 0;                         // left out
};
// `window` is given to each: the trace's departures are ignored.
[[nodiscard]] TraceRequests read_requests(
    const std::string& path, EpochMs starts_at, EpochMs ends_at
);

[[nodiscard]] std::int64_t gpu_milli_of(const capacity::PlacementRequest& request);
[[nodiscard]] std::int64_t gpu_milli_of(const std::vector<capacity::NodeState>& nodes);

// Endless: shuffled, and shuffled anew when used up. Equal seeds give equal draws.
class Draw {
public:
    Draw(const std::vector<capacity::PlacementRequest>& requests, std::uint64_t seed);
    const capacity::PlacementRequest& next();

private:
    void shuffle();
    std::uint64_t below(std::uint64_t bound);

    const std::vector<capacity::PlacementRequest>* requests_;
    std::vector<std::size_t> order_;
    std::size_t at_ = 0;
    std::uint64_t state_;
};

}  // namespace compute::bench
