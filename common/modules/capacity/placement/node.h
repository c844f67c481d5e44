// A node in the placement index: what it is, what is used of it over time, and the view of it that
// decisions read.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "modules/capacity/placement/placement_index.h"
#include "modules/capacity/placement/timeline.h"

namespace compute::capacity {

// Places of names in NodePool's tables.
using ModelId = std::uint16_t;
using DomainId = std::uint32_t;
inline constexpr ModelId kMixedModels = std::numeric_limits<ModelId>::max();
inline constexpr ModelId kNoGpus = kMixedModels - 1;
inline constexpr DomainId kNoDomain = std::numeric_limits<DomainId>::max();

// What a scan asks of a node before it looks at what is free: 8 bytes a node.
struct NodeFacts {
    DomainId domain = kNoDomain;
    ModelId model = kNoGpus;  // of all its GPUs, or kMixedModels
    bool is_ready : 1 = true;
    bool is_enabled : 1 = true;
    // A claim of this process is being booked on it. Who books there next waits for that
    // transaction to end, so of nodes that are without use in a window another is taken.
    bool is_claimed : 1 = false;

    [[nodiscard]] bool is_usable() const { return is_ready && is_enabled; }
};

// What of a node is free in one window. All that a decision reads of a node stands here, side by
// side with the other nodes' views; the rest is looked up only for the node that is chosen.
struct alignas(64) NodeView {
    // The first cache line: what a scan for whole GPUs looks at.
    Reach reach{.from_low = 0, .from_high = 0, .to_low = 0, .to_high = 0};  // covers nothing
    std::int64_t cpu_milli = 0;                                             // free
    std::int64_t memory_mib = 0;                                            // free
    std::int32_t free_milli = 0;                                            // of all placeable GPUs
    ModelId model = kNoGpus;
    std::int16_t whole = 0;          // placeable GPUs without any use
    std::int16_t whole_healthy = 0;  // of them, not degraded
    std::int16_t gpus = 0;           // expected ones
    bool is_ready = false;
    bool is_enabled = false;
    bool is_untouched = false;  // nothing of the node is used
    // Every placeable GPU is full at some time of the window: nothing of them is free, and CPU and
    // memory were not read to the window's end.
    bool is_full = false;
    // The second.
    std::uint16_t degraded = 0;     // a bit for each GPU that is
    std::int16_t placeable = 0;     // neither missing nor failed
    std::int16_t largest_free = 0;  // the most milli that one placeable GPU has
    DomainId domain = kNoDomain;
    std::int64_t cpu_share = 0;  // of the node's CPU, what belongs to one GPU
    std::int64_t memory_share = 0;
    std::array<std::int16_t, kMaxGpus> free{};  // milli of each GPU; -1: not placeable

    [[nodiscard]] bool is_usable() const { return is_ready && is_enabled; }
};

struct IndexedGpu {
    std::string uuid;
    ModelId model = 0;
    GpuHealth health = GpuHealth::Healthy;

    [[nodiscard]] bool is_placeable() const {
        return health == GpuHealth::Healthy || health == GpuHealth::Degraded;
    }
};

// A hold on this node that the version below does not include yet.
struct NodeHold {
    HoldId id = 0;
    std::optional<std::int64_t> committed;  // the version that includes it, once known
};

struct IndexedNode {
    // What views are made of.
    NodeFacts facts;
    std::int16_t gpu_count = 0;
    std::uint16_t placeable = 0;  // a bit for each GPU that is
    std::uint16_t degraded = 0;   // likewise
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    Timeline use;
    // The rest.
    std::string id;
    std::int64_t version = 0;
    std::vector<IndexedGpu> gpus;
    std::vector<NodeHold> holds;

    [[nodiscard]] bool is_usable() const { return facts.is_usable(); }
    // The place of a GPU, -1 when the node has none of that name.
    [[nodiscard]] int find_gpu(const std::string& uuid) const;
    void put_gpus(std::vector<IndexedGpu> all);

    // What is free in [from, to). Of a node without a free GPU, CPU and memory are told only when
    // `needs_host` says so (see NodeView::is_full).
    [[nodiscard]] NodeView view(EpochMs from, EpochMs to, bool needs_host) const;
    // What there would be if nothing were booked and the node ready and enabled.
    [[nodiscard]] NodeView idle_view() const;

private:
    [[nodiscard]] NodeView blank_view() const;
    // Counts a GPU with `used` milli of it taken into the view.
    void count_gpu(NodeView& view, std::size_t place, std::int64_t used) const;
};

}  // namespace compute::capacity
