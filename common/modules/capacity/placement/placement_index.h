// The placement index: the nodes of all pools with what is booked on them, in memory, and the
// decision where a claim goes.
//
// Order of a decision: node ready and enabled, model, health, window free, gang and fabric, cost.
// The cheapest node wins and ties go to the lower node id, so equal histories give equal decisions.
//
// The database stays the truth. A node is put here as it was read (put_node replaces all that was
// known of it); a decision carries the versions it was made on, and whoever books compares them, or
// looks again at the chosen GPUs, in the transaction that writes the bookings.
//
// Holds. Between a decision and its commit the chosen capacity is held here, so that the next
// decision of this process goes elsewhere: hold() decides and holds; then commit_hold() with the
// versions the transaction gave the nodes, or drop_hold(). Holds are process memory: a crash
// forgets them with everything else.
//
// Not thread-safe; see live_placement.h. Decisions keep caches, so they are not const.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/capacity/placement/request.h"

namespace compute::capacity {

// How candidates are compared. The product places by ThreeTerms; the others are what it is measured
// against.
enum class CostRule { ThreeTerms, FirstFit, BestFit };

enum class GpuHealth { Healthy, Degraded, Missing, Failed };

struct GpuState {
    std::string uuid;
    std::string model;
    GpuHealth health = GpuHealth::Healthy;
};

// A root booking (children use no new capacity).
struct BookedWindow {
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
    int gpu = -1;  // place in NodeState::gpus; -1: CPU and memory only, or a GPU that is gone
    std::int64_t milli = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
};

struct NodeState {
    std::string id;
    std::string pool_id;
    std::optional<std::string> fabric;
    bool is_ready = true;    // connection = ready
    bool is_enabled = true;  // admin = enabled
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t version = 0;
    std::vector<GpuState> gpus;          // the expected ones, by index; at most 16
    std::vector<BookedWindow> bookings;  // those that end later than now
};

using HoldId = std::uint64_t;

struct HoldResult {
    PlaceResult result;
    HoldId hold = 0;  // not 0 exactly when there is a placement
};

class PlacementIndex {
public:
    PlacementIndex();
    ~PlacementIndex();
    PlacementIndex(PlacementIndex&&) noexcept;
    PlacementIndex& operator=(PlacementIndex&&) noexcept;

    // Replaces the node, if `state.version` is newer than what is known of it; holds that a later
    // version than this includes, or that are not committed, stay on top. Returns whether it did.
    bool put_node(const NodeState& state);
    // From `version` on; older readings of it are refused from then on.
    void remove_node(const std::string& node_id, std::int64_t version);
    [[nodiscard]] std::optional<std::int64_t> find_version(const std::string& node_id) const;
    // True when holds of this process that are not settled yet may be all that a version of the
    // node as high as `version` adds: their commits are in the database before they are told here.
    [[nodiscard]] bool may_be_own(const std::string& node_id, std::int64_t version) const;
    [[nodiscard]] std::size_t count_nodes() const;

    // Where the claim fits in its window; otherwise why not. Holds nothing.
    [[nodiscard]] PlaceResult place(
        const std::string& pool_id, const PlacementRequest& request, EpochMs now
    );
    [[nodiscard]] HoldResult hold(
        const std::string& pool_id, const PlacementRequest& request, EpochMs now
    );
    // Books `placement` as if it had been chosen here just now (found by another way, or replayed).
    [[nodiscard]] HoldId hold_placement(
        const Placement& placement, EpochMs starts_at, EpochMs ends_at
    );
    // `committed`: each node with the version that the transaction left it at.
    void commit_hold(HoldId hold, const std::vector<NodeStamp>& committed);
    void drop_hold(HoldId hold);

    // The first time at or after `not_before` at which the claim would fit for ends_at - starts_at
    // on nodes that are usable now. Exact within its budget of work, otherwise a time at which it
    // fits for certain. nullopt: not before something comes back.
    [[nodiscard]] std::optional<EpochMs> find_earliest_start(
        const std::string& pool_id, const PlacementRequest& request, EpochMs not_before
    );
    // Whether what stands in the pool could hold it, idle, with every node ready and enabled.
    [[nodiscard]] bool could_ever_fit(const std::string& pool_id, const PlacementRequest& request);
    [[nodiscard]] ExtendResult check_extend(
        const std::vector<PlannedBooking>& held, EpochMs from, EpochMs to
    ) const;
    // By model, in order.
    [[nodiscard]] std::vector<ModelCapacity> summarize(
        const std::string& pool_id, EpochMs from, EpochMs to
    );

    // Tells the cost what is asked for these days (once for each claim, placed or not): which
    // models are named, and how much CPU and memory go with a GPU. Fades with time, half in a day.
    void note_demand(const std::string& pool_id, const PlacementRequest& request, EpochMs at);

    // For measurements; ThreeTerms from the start.
    void compare_by(CostRule rule);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::capacity
