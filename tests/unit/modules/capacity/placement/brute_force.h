// Placement once more, as slow and as plain as can be: time in single units, every window looked at
// unit by unit. What the index answers is held against this.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "modules/capacity/placement/placement_index.h"

namespace compute::capacity {

struct BruteBooking {
    PlannedBooking booking;
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
};

class BruteForce {
public:
    explicit BruteForce(std::vector<NodeState> nodes) : nodes_(std::move(nodes)) {}

    std::vector<NodeState>& nodes() { return nodes_; }
    void add(const Placement& placement, EpochMs starts_at, EpochMs ends_at);
    void remove(const Placement& placement, EpochMs starts_at, EpochMs ends_at);

    // The first broken limit, in words; empty when all hold at every instant.
    [[nodiscard]] std::string fault() const;
    [[nodiscard]] bool fits(const PlacementRequest& request) const;
    [[nodiscard]] bool could_ever_fit(const PlacementRequest& request) const;
    // The first start in [from, until) at which it fits.
    [[nodiscard]] std::optional<EpochMs> find_start(
        PlacementRequest request, EpochMs from, EpochMs until
    ) const;
    // What is wrong with a placement as an answer to the request; empty when nothing is.
    [[nodiscard]] std::string objection(const PlacementRequest& request, const Placement& placement)
        const;

private:
    struct Free {
        std::vector<std::int64_t> milli;  // by GPU; -1: not placeable
        std::int64_t cpu = 0;
        std::int64_t memory = 0;
        bool is_untouched = true;
    };
    [[nodiscard]] Free free_on(const NodeState& node, EpochMs from, EpochMs to) const;
    // How many GPUs of the claim the node can give, at most `want`.
    [[nodiscard]] std::int64_t gives(
        const PlacementRequest& request, const NodeState& node, const Free& free, std::int64_t want
    ) const;
    template <class FreeOf>
    [[nodiscard]] bool fits_with(const PlacementRequest& request, FreeOf free_of) const;

    std::vector<NodeState> nodes_;
    std::vector<BruteBooking> bookings_;
};

}  // namespace compute::capacity
