// How full the fleet gets and how long a decision takes: the trace's requests, drawn until they
// ask for 100 % and 130 % of the fleet's GPUs, placed by the index that serves. Usage and output in
// bench/README.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/placement/timing.h"
#include "bench/placement/trace.h"

namespace compute::bench {
namespace {

inline constexpr EpochMs kNow = 1'790'000'000'000;
constexpr EpochMs kEnd = kNow + 30LL * 86'400'000;
constexpr std::uint64_t kSeeds[] = {1, 2, 3};

struct Filled {
    double at_100 = 0;
    double at_130 = 0;
};

double share(std::int64_t part, std::int64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Filled fill(
    const std::vector<capacity::NodeState>& nodes,
    const TraceRequests& trace,
    capacity::CostRule rule,
    std::uint64_t seed,
    Timings& timings
) {
    capacity::PlacementIndex index;
    index.compare_by(rule);
    for (const capacity::NodeState& node : nodes) {
        index.put_node(node);
    }
    const std::int64_t fleet = gpu_milli_of(nodes);
    Filled filled;
    Draw draw(trace.requests, seed);
    std::int64_t asked = 0;
    std::int64_t placed = 0;
    while (asked < fleet * 13 / 10) {
        const capacity::PlacementRequest& request = draw.next();
        const bool was_below = asked < fleet;
        asked += gpu_milli_of(request);
        index.note_demand("openb", request, kNow);
        const Stopwatch watch;
        const capacity::HoldResult held = index.hold("openb", request, kNow);
        timings.add(watch);
        placed += held.hold != 0 ? gpu_milli_of(request) : 0;
        if (was_below && asked >= fleet) {
            filled.at_100 = share(placed, fleet);
        }
    }
    filled.at_130 = share(placed, fleet);
    return filled;
}

void run(const std::string& folder, const std::string& variant) {
    const auto nodes = read_nodes(folder + "/openb_node_list_gpu_node.csv");
    const auto trace = read_requests(folder + "/openb_pod_list_" + variant + ".csv", kNow, kEnd);
    for (const auto& [name, rule] :
         {std::pair{"three terms", capacity::CostRule::ThreeTerms},
          std::pair{"first fit", capacity::CostRule::FirstFit},
          std::pair{"best fit", capacity::CostRule::BestFit}}) {
        double at_100 = 0;
        double at_130 = 0;
        Timings timings(name);
        for (const std::uint64_t seed : kSeeds) {
            const Filled filled = fill(nodes, trace, rule, seed, timings);
            at_100 += filled.at_100 / std::size(kSeeds);
            at_130 += filled.at_130 / std::size(kSeeds);
        }
        std::printf(
            "%s, %s: allocated %.2f %% at 100 %% demand, %.2f %% at 130 %%; %lld requests without "
            "GPU left out\n",
            variant.c_str(),
            name,
            at_100,
            at_130,
            static_cast<long long>(trace.cpu_only)
        );
        timings.print(variant.c_str());
    }
}

}  // namespace
}  // namespace compute::bench

int main(int argc, char** argv) {
    const char* folder = argc > 1 ? argv[1] : std::getenv("BETTER_COMPUTE_TRACE");
    if (folder == nullptr) {
        std::fprintf(stderr, "usage: bench_placement FOLDER [large] (or BETTER_COMPUTE_TRACE)\n");
        return 2;
    }
    if (argc > 2 && argv[2] == std::string("large")) {
        compute::bench::run_large_fleet(folder, compute::bench::kNow);
        return 0;
    }
    for (const char* variant : {"default", "gpuspec33", "multigpu50", "gpushare100"}) {
        compute::bench::run(folder, variant);
    }
    compute::bench::run_large_fleet(folder, compute::bench::kNow);
    return 0;
}
