#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "bench/placement/timing.h"
#include "bench/placement/trace.h"

namespace compute::bench {
namespace {

constexpr int kCopies = 16;
constexpr int kBookingsPerGpu = 10;
constexpr int kDecisions = 4'000;
constexpr EpochMs kHour = 3'600'000;

// A resident set in MiB, as the kernel counts it.
long resident_mib() {
    std::ifstream file("/proc/self/statm");
    long pages = 0;
    file >> pages >> pages;
    return pages * 4 / 1024;
}

// Whole GPUs booked for an hour, again and again, with pauses of one to three hours between.
void book(capacity::NodeState& node, std::size_t number, EpochMs now) {
    const auto gpus = static_cast<std::int64_t>(node.gpus.size());
    for (int gpu = 0; gpu < static_cast<int>(gpus); ++gpu) {
        EpochMs at =
            now - static_cast<EpochMs>(number * 7 + static_cast<std::size_t>(gpu)) % 60 * 60'000;
        for (int i = 0; i < kBookingsPerGpu; ++i) {
            node.bookings.push_back(
                {.starts_at = at,
                 .ends_at = at + kHour,
                 .gpu = gpu,
                 .milli = capacity::kWholeGpuMilli,
                 .cpu_milli = node.cpu_milli / gpus,
                 .memory_mib = node.memory_mib / gpus}
            );
            at += kHour * (2 + (i + gpu) % 3);
        }
    }
}

}  // namespace

void run_large_fleet(const std::string& folder, EpochMs now) {
    capacity::PlacementIndex index;
    std::size_t nodes = 0;
    std::size_t bookings = 0;
    const long before = resident_mib();
    double seconds = 0;
    for (int copy = 0; copy < kCopies; ++copy) {
        for (capacity::NodeState& node :
             read_nodes(folder + "/openb_node_list_gpu_node.csv", copy)) {
            book(node, nodes, now);
            bookings += node.bookings.size();
            ++nodes;
            const Stopwatch watch;
            index.put_node(node);
            seconds += watch.cpu_micros() / 1e6;
        }
    }
    std::printf(
        "%zu nodes, %zu bookings: filled in %.2f s, %ld MiB\n",
        nodes,
        bookings,
        seconds,
        resident_mib() - before
    );
    TraceRequests trace = read_requests(folder + "/openb_pod_list_gpuspec33.csv", now, now + kHour);
    Draw draw(trace.requests, 1);
    Timings placed("placed");
    Timings refused("refused");
    for (int i = 0; i < kDecisions; ++i) {
        capacity::PlacementRequest request = draw.next();
        // Every other one now, the rest within a day; from ten minutes to ten hours.
        request.starts_at = now + (i % 2 == 0 ? 0 : i * 7'919LL % 24 * kHour);
        request.ends_at = request.starts_at + 600'000LL * (1 + i * 31 % 60);
        index.note_demand("openb", request, now);
        const Stopwatch watch;
        const capacity::HoldResult held = index.hold("openb", request, now);
        (held.hold != 0 ? placed : refused).add(watch);
    }
    placed.print("large fleet");
    refused.print("large fleet");
    std::printf("large fleet: %ld MiB after the decisions\n", resident_mib() - before);
}

}  // namespace compute::bench
