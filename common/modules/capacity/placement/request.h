// What is asked of placement and what it answers: plain values, no rows, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/json.h"

namespace compute::capacity {

inline constexpr std::int64_t kWholeGpuMilli = 1000;

enum class FabricWish { None, Prefer, Require };
enum class Packing { Pack, Spread };

// A claim as placement sees it. What is out of range or contradictory is refused before, by the
// methods; here it simply fits nowhere.
struct PlacementRequest {
    std::int64_t gpu_count = 1;                 // 0: CPU and memory on one node
    std::int64_t gpu_milli = kWholeGpuMilli;    // less: a share of one GPU; gpu_count is then 1
    std::optional<std::int64_t> gpus_per_node;  // exactly so many on each node; else fewest nodes
    std::vector<std::string> gpu_models;        // any of them; empty: any at all
    // Of each GPU, whatever part of it is asked for (of the whole claim when gpu_count is 0).
    // Absent: the GPU's share of its node, times gpu_milli / 1000.
    std::optional<std::int64_t> cpu_milli_per_gpu;
    std::optional<std::int64_t> memory_mib_per_gpu;
    // Only nodes that nobody else holds anything of, each with all its GPUs, CPU and memory.
    bool is_exclusive = false;
    FabricWish fabric = FabricWish::Prefer;
    // Half-open, with the pool's cleanup time inside. As soon as possible: starts_at = now.
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
    // Of the pool.
    Packing packing = Packing::Pack;
    bool may_share_gpus = false;  // sharing = fraction
    // Node ids that are not considered (held already by the claim that is being healed, or failed).
    std::vector<std::string> avoided_nodes;
    // Only nodes of this domain: where the healthy rest of a gang stands.
    std::optional<std::string> fabric_domain;
};

// A booking to be written: one for each GPU, or one without GPU. CPU and memory are split over a
// node's bookings so that their sum is what the claim holds there.
struct PlannedBooking {
    std::string node_id;
    std::string gpu_uuid;  // empty: CPU and memory only
    std::int64_t milli = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
};

// The version of a node that a decision was made on.
struct NodeStamp {
    std::string node_id;
    std::int64_t version = 0;
};

struct Placement {
    std::vector<PlannedBooking> bookings;  // by node, then GPU index
    std::vector<NodeStamp> nodes;          // each node once, in the order of `bookings`
};

// Why a claim does not fit. Each node is counted under the first reason that keeps it from holding
// its part of the claim; those that could hold a part are `nodes` less all of these.
struct Explanation {
    std::int64_t nodes = 0;  // of the pool
    struct Filtered {
        std::int64_t model = 0;
        std::int64_t busy = 0;
        std::int64_t health = 0;
        std::int64_t disconnected = 0;
        std::int64_t cordoned = 0;
        std::int64_t cpu = 0;
        std::int64_t memory = 0;
        std::int64_t fabric = 0;
    } filtered;
    // The most that one usable node has free in the window, of the models asked for: whole GPUs,
    // or milli of one GPU when the claim asks for a share.
    std::int64_t largest_hole = 0;
    // When it would fit if nothing changed; absent when nodes or GPUs must come (back) first.
    std::optional<EpochMs> earliest_start;
    // False: what stands in the pool could not hold it even if it were idle and all its nodes
    // ready.
    bool could_ever_fit = false;
};
// The members of capacity.md: nodes, filtered, largestHole, earliestStart.
[[nodiscard]] Json explanation_json(const Explanation& explanation);

struct PlaceResult {
    std::optional<Placement> placement;
    std::optional<Explanation> explanation;  // exactly when there is no placement
};

// May a claim keep what it holds for longer?
struct ExtendResult {
    EpochMs free_until = 0;        // all of it is free on [from, free_until); at most `to`
    std::vector<NodeStamp> nodes;  // each once, by id
};

// What one GPU model has in a window. GPUs are counted whole unless the name says milli.
struct ModelCapacity {
    std::string gpu_model;
    std::int64_t nodes = 0;
    std::int64_t total = 0;
    std::int64_t healthy = 0;       // healthy or degraded, on ready and enabled nodes
    std::int64_t booked = 0;        // of all, those with a booking in the window
    std::int64_t booked_milli = 0;  // the peak of each GPU, summed
    std::int64_t free = 0;          // of the healthy ones, those without
    std::int64_t free_milli = 0;
    std::int64_t largest_hole = 0;  // the most free GPUs of one node
    std::int64_t stranded = 0;      // free, but their nodes lack CPU or memory for them
    struct Domain {
        std::optional<std::string> fabric;
        std::int64_t whole_nodes_free = 0;
    };
    std::vector<Domain> domains;  // by name, those without a domain first
};

}  // namespace compute::capacity
