// The choice of nodes for a claim among those that have room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "modules/capacity/placement/ask.h"
#include "modules/capacity/placement/node_pool.h"

namespace compute::capacity {

// So many GPUs of the node at `place` (0 GPUs for a claim without any).
struct ChosenNode {
    std::size_t place = 0;
    std::int64_t count = 0;
};

// A node with room for (a part of) the claim.
struct Candidate {
    std::int64_t cost = 0;
    std::size_t place = 0;
    std::int64_t count = 0;  // what it can give, at most what is asked for
    DomainId domain = kNoDomain;
    // Another claim is being booked on it (NodeFacts), though not in this window: nothing is lost
    // when an equal node is taken instead. In this window it is: claims are packed, not spread.
    bool is_claimed = false;
};

// Where a decision gets its views from: what is free in a window on nodes as they are, or what
// there would be with nothing booked and every node ready and enabled.
class ViewSource {
public:
    static ViewSource of_window(NodePool& pool, const Ask& ask, EpochMs now) {
        const PlacementRequest& request = ask.request();
        return {
            pool,
            NodePool::window(request.starts_at, request.ends_at, now, ask.needs_host()),
            false};
    }
    static ViewSource of_idle(NodePool& pool) { return {pool, {}, true}; }

    [[nodiscard]] std::size_t size() const { return pool_->size(); }
    [[nodiscard]] const IndexedNode& node(std::size_t place) const { return pool_->node(place); }
    // Whether the claim may have a place there, whatever is booked.
    [[nodiscard]] bool is_open(const Ask& ask, std::size_t place) const {
        const NodeFacts& node = pool_->facts(place);
        return (is_idle_ || node.is_usable()) && ask.is_meant(node, place);
    }
    // Good until the next call.
    const NodeView& view(std::size_t place) {
        if (is_idle_) {
            idle_ = pool_->node(place).idle_view();
            return idle_;
        }
        return pool_->view(place, window_);
    }
    [[nodiscard]] bool is_claimed(std::size_t place) const {
        return !is_idle_ && pool_->facts(place).is_claimed;
    }
    // Says that view(place) may be asked for soon.
    void prefetch(std::size_t place) const {
        if (!is_idle_) {
            pool_->prefetch(place, window_);
        }
    }

private:
    ViewSource(NodePool& pool, const NodePool::Window& window, bool is_idle)
        : pool_(&pool), window_(window), is_idle_(is_idle) {}

    NodePool* pool_;
    NodePool::Window window_;
    bool is_idle_;
    NodeView idle_;
};

// Keeps its buffers, so that a decision allocates nothing.
class Chooser {
public:
    explicit Chooser(CostRule rule = CostRule::ThreeTerms) : rule_(rule) {}

    // The nodes for the claim, cheapest choice of the fewest nodes (in the tightest fabric domain),
    // by place; empty when it does not fit. Good until the next call.
    const std::vector<ChosenNode>& choose(
        ViewSource& views, const Ask& ask, const CostTerms& terms
    );

private:
    // The node at `place` as one that gives `count` GPUs.
    [[nodiscard]] Candidate candidate_of(
        const ViewSource& views,
        const Ask& ask,
        std::size_t place,
        const NodeView& view,
        std::int64_t count,
        const CostTerms& terms
    ) const;
    [[nodiscard]] bool choose_one(
        ViewSource& views, const Ask& ask, std::int64_t count, const CostTerms& terms
    );
    [[nodiscard]] bool choose_equal(
        ViewSource& views, const Ask& ask, std::int64_t per_node, const CostTerms& terms
    );
    [[nodiscard]] bool choose_fewest(ViewSource& views, const Ask& ask, const CostTerms& terms);
    [[nodiscard]] bool choose_whole_nodes(
        ViewSource& views, const Ask& ask, const CostTerms& terms
    );
    void collect(
        ViewSource& views,
        const Ask& ask,
        std::int64_t want,
        std::int64_t least,
        const CostTerms& terms
    );
    // Of the candidates [first, last), takes `count` GPUs from the fewest nodes, cheapest first
    // among equals.
    void take(std::size_t first, std::size_t last, std::int64_t count);
    // Takes `count` GPUs from all candidates as the fabric wish has it.
    [[nodiscard]] bool take_by_fabric(const Ask& ask, std::int64_t count);

    // A run of candidates in one fabric domain.
    struct Run {
        std::size_t first = 0;
        std::size_t last = 0;
        std::int64_t gpus = 0;
        bool is_domain = true;
    };
    void find_runs();

    CostRule rule_;
    std::vector<Candidate> candidates_;
    std::vector<Run> runs_;
    std::vector<ChosenNode> chosen_;
};

}  // namespace compute::capacity
