// A request made ready for one pool: names looked up, and the questions that are put to each view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "modules/capacity/placement/node_pool.h"
#include "modules/capacity/placement/request.h"

namespace compute::capacity {

// Of `free_milli`, what the free CPU and memory beside it cannot serve at the mean demand.
[[nodiscard]] std::int64_t stranded(
    std::int64_t free_milli, std::int64_t cpu, std::int64_t memory, const CostTerms& terms
);

class Ask {
public:
    Ask(const PlacementRequest& request, const NodePool& pool);

    [[nodiscard]] const PlacementRequest& request() const { return *request_; }
    [[nodiscard]] std::int64_t milli() const { return request_->gpu_milli; }
    [[nodiscard]] bool is_share() const { return request_->gpu_milli < kWholeGpuMilli; }

    // Whether the node may be looked at for this claim at all, busy or not.
    [[nodiscard]] bool is_meant(const NodeFacts& node, std::size_t place) const {
        return is_allowed_model(node.model) &&
               (has_no_place_rules_ || may_stand(node.domain, place));
    }
    [[nodiscard]] bool may_stand(DomainId domain, std::size_t place) const;
    // Whether it asks for CPU and memory alone: they are wanted also where no GPU is free.
    [[nodiscard]] bool needs_host() const { return request_->gpu_count == 0; }
    [[nodiscard]] bool is_allowed_model(ModelId model) const {
        if (allowed_.empty()) {
            return model != kNoGpus || request_->gpu_count == 0;
        }
        return model == kMixedModels || (model != kNoGpus && allowed_[model] != 0);
    }
    [[nodiscard]] bool is_allowed_gpu(ModelId model) const {
        return allowed_.empty() || allowed_[model] != 0;
    }

    // How many of `want` GPUs the node can give (of a share: 1 or 0; of no GPUs at all: `want`, 1,
    // when CPU and memory suffice).
    [[nodiscard]] std::int64_t count_fitting(const NodeView& view, std::int64_t want) const;
    // The view as this claim sees it: GPUs of other models are none of its business. Only needed
    // for nodes with several models.
    [[nodiscard]] bool needs_narrowing(const NodeView& view) const {
        return view.model == kMixedModels && !allowed_.empty();
    }
    [[nodiscard]] NodeView narrow(const NodeView& view, const IndexedNode& node) const;

    [[nodiscard]] std::int64_t cpu_for_one(const NodeView& view) const {
        return request_->cpu_milli_per_gpu.value_or(share_of(view.cpu_share));
    }
    [[nodiscard]] std::int64_t memory_for_one(const NodeView& view) const {
        return request_->memory_mib_per_gpu.value_or(share_of(view.memory_share));
    }

    // Of placing `count` GPUs there, which fit. Lower is better.
    [[nodiscard]] std::int64_t cost(
        const NodeView& view, std::int64_t count, const CostTerms& terms, CostRule rule
    ) const;

    // Which GPU of the view takes the share; -1: none.
    [[nodiscard]] int choose_share(const NodeView& view) const;

private:
    [[nodiscard]] std::int64_t share_of(std::int64_t whole) const {
        return request_->gpu_count == 0 ? 0 : whole * request_->gpu_milli / kWholeGpuMilli;
    }
    [[nodiscard]] std::int64_t packed_cost(
        const NodeView& view, std::int64_t count, const CostTerms& terms
    ) const;

    const PlacementRequest* request_;
    std::vector<char> allowed_;         // by model; empty: all
    std::vector<std::size_t> avoided_;  // places, in order
    std::optional<DomainId> domain_;
    bool has_no_place_rules_ = true;
};

}  // namespace compute::capacity
