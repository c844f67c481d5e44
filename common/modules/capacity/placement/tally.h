// Counting towards a claim that several nodes may hold together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "modules/capacity/placement/ask.h"

namespace compute::capacity {

// Whether nodes that can give so many GPUs each can together hold the claim: all GPUs counted, in
// one domain where the claim requires one.
class Tally {
public:
    explicit Tally(const Ask& ask) : request_(&ask.request()) {
        is_one_node_ = request_->gpu_count == 0 || ask.is_share() ||
                       request_->gpus_per_node == request_->gpu_count;
        needs_domain_ = request_->fabric == FabricWish::Require && !is_one_node_;
        has_open_size_ = request_->is_exclusive && !request_->gpus_per_node && !is_one_node_;
    }

    // What a node must give at least, and at most.
    [[nodiscard]] std::int64_t want() const {
        if (request_->gpu_count == 0) {
            return 1;
        }
        return request_->gpus_per_node.value_or(
            std::min<std::int64_t>(request_->gpu_count, kMaxGpus)
        );
    }
    [[nodiscard]] std::int64_t least() const { return request_->gpus_per_node ? want() : 1; }

    // Whether one node could hold all of it, and whether nothing else can.
    [[nodiscard]] bool may_stand_alone() const {
        return request_->gpu_count == 0 || want() == request_->gpu_count;
    }
    [[nodiscard]] bool must_stand_alone() const {
        return is_one_node_ || request_->gpu_count == 1;
    }

    // A node that gave `before` now gives `count`.
    void change(DomainId domain, std::int64_t before, std::int64_t count) {
        alone_ +=
            static_cast<int>(suffices_alone(count)) - static_cast<int>(suffices_alone(before));
        // Whole nodes are counted by size: only equal ones make a claim together.
        const std::int64_t size = has_open_size_ ? std::max(before, count) : 0;
        const bool divides = size == 0 || request_->gpu_count % size == 0;
        if (is_one_node_ || !divides || (needs_domain_ && domain == kNoDomain)) {
            return;
        }
        std::int64_t& sum = sums_[{needs_domain_ ? domain : 0, size}];
        together_ -= sum >= request_->gpu_count ? 1 : 0;
        sum += count - before;
        together_ += sum >= request_->gpu_count ? 1 : 0;
    }
    [[nodiscard]] bool has_enough() const { return alone_ > 0 || together_ > 0; }

    [[nodiscard]] bool suffices_alone(std::int64_t count) const {
        return count > 0 && count >= request_->gpu_count;
    }

private:
    const PlacementRequest* request_;
    bool is_one_node_ = false;
    bool needs_domain_ = false;
    bool has_open_size_ = false;
    int alone_ = 0;     // nodes that could hold it alone
    int together_ = 0;  // groups that could
    std::map<std::pair<DomainId, std::int64_t>, std::int64_t> sums_;
};

}  // namespace compute::capacity
