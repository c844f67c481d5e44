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
#include "modules/capacity/placement/profile.h"

namespace compute::capacity {

inline constexpr int kMaxGpus = 16;

// Places of names in NodePool's tables.
using ModelId = std::uint16_t;
using DomainId = std::uint32_t;
inline constexpr ModelId kMixedModels = std::numeric_limits<ModelId>::max();
inline constexpr ModelId kNoGpus = kMixedModels - 1;
inline constexpr DomainId kNoDomain = std::numeric_limits<DomainId>::max();

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
    GpuProfile use;

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
    std::string id;
    bool is_ready = true;
    bool is_enabled = true;
    DomainId domain = kNoDomain;
    ModelId model = kNoGpus;  // of all its GPUs, or kMixedModels
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t version = 0;
    std::vector<IndexedGpu> gpus;
    HostProfile host;
    std::vector<NodeHold> holds;

    [[nodiscard]] bool is_usable() const { return is_ready && is_enabled; }
    // The place of a GPU, -1 when the node has none of that name.
    [[nodiscard]] int find_gpu(const std::string& uuid) const;
    // Adds a booking, or takes it away with negative amounts.
    void use(EpochMs from, EpochMs to, int gpu, std::int64_t milli, const HostAmount& host_amount);
    void forget_before(EpochMs now);

    // What is free in [from, to).
    [[nodiscard]] NodeView view(EpochMs from, EpochMs to) const;
    // What there would be if nothing were booked and the node ready and enabled.
    [[nodiscard]] NodeView idle_view() const;
    // From when on nothing of the node is used.
    [[nodiscard]] EpochMs quiet_from() const;

private:
    [[nodiscard]] NodeView blank_view() const;
};

}  // namespace compute::capacity
