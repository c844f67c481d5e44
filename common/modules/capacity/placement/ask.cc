#include "modules/capacity/placement/ask.h"

#include <algorithm>

namespace compute::capacity {
namespace {

// Costs are in hundredths of a GPU milli. What is stranded weighs 1, crumbs and breakage 0.3,
// pressure 1 (capacity.md has the measurements behind these).
constexpr std::int64_t kStranded = 100;
constexpr std::int64_t kCrumbs = 30;
constexpr std::int64_t kCrumbsLeft = kCrumbs * 2 / 10;  // 0.2 of what is left on the fitted GPU
constexpr std::int64_t kOpensGpu = kCrumbs * 400;
constexpr std::int64_t kWholeLeft = kCrumbs * 60;
constexpr std::int64_t kBreaksNode = kCrumbs * 200;
constexpr std::int64_t kBigNodeGpus = 8;
constexpr std::int64_t kIdleGpusBeside = 60;  // CPU-only: 0.3 x 0.02 per free milli, in hundredths
constexpr std::int64_t kDegradedGpu = 100'000;
constexpr int kServeShift = 20;
constexpr int kPressureShift = 8;

std::int64_t pressure_of(ModelId model, const CostTerms& terms) {
    if (model == kMixedModels) {
        return terms.mixed_pressure;
    }
    return model < terms.pressure.size() ? terms.pressure[model] : 0;
}

}  // namespace

std::int64_t stranded(
    std::int64_t free_milli, std::int64_t cpu, std::int64_t memory, const CostTerms& terms
) {
    const std::int64_t served = std::min(
        cpu * terms.milli_per_cpu >> kServeShift, memory * terms.milli_per_memory >> kServeShift
    );
    return std::max<std::int64_t>(free_milli - served, 0);
}

Ask::Ask(const PlacementRequest& request, const NodePool& pool) : request_(&request) {
    if (!request.gpu_models.empty()) {
        allowed_.assign(std::max<std::size_t>(pool.models().size(), 1), 0);
        for (const std::string& name : request.gpu_models) {
            if (const auto model = pool.models().find(name)) {
                allowed_[*model] = 1;
            }
        }
    }
    for (const std::string& id : request.avoided_nodes) {
        if (const auto place = pool.find(id)) {
            avoided_.push_back(*place);
        }
    }
    std::sort(avoided_.begin(), avoided_.end());
    if (request.fabric_domain) {
        // A domain without nodes is like one that no node is in.
        const auto domain = pool.domains().find(*request.fabric_domain);
        domain_ = domain ? static_cast<DomainId>(*domain) : kNoDomain - 1;
    }
    has_no_place_rules_ = avoided_.empty() && !domain_;
}

bool Ask::may_stand(DomainId domain, std::size_t place) const {
    return (!domain_ || domain == *domain_) &&
           !std::binary_search(avoided_.begin(), avoided_.end(), place);
}

std::int64_t Ask::count_fitting(const NodeView& view, std::int64_t want) const {
    std::int64_t count = want;
    if (is_share()) {
        if (!request_->may_share_gpus || view.largest_free < milli()) {
            return 0;
        }
    } else if (request_->gpu_count > 0) {
        count = std::min<std::int64_t>(want, view.whole);
    }
    if (request_->is_exclusive) {
        if (request_->gpu_count == 0) {
            return view.is_untouched ? want : 0;
        }
        const bool is_whole_node =
            view.is_untouched && view.whole == view.gpus && want >= view.gpus;
        return is_whole_node ? view.gpus : 0;
    }
    const std::int64_t cpu = cpu_for_one(view);
    if (cpu * count > view.cpu_milli) {
        count = view.cpu_milli / cpu;
    }
    const std::int64_t memory = memory_for_one(view);
    if (memory * count > view.memory_mib) {
        count = view.memory_mib / memory;
    }
    return count;
}

NodeView Ask::narrow(const NodeView& view, const IndexedNode& node) const {
    NodeView narrowed = view;
    narrowed.whole = 0;
    narrowed.placeable = 0;
    narrowed.largest_free = 0;
    narrowed.whole_healthy = 0;
    narrowed.free_milli = 0;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        if (!is_allowed_gpu(node.gpus[i].model)) {
            narrowed.free[i] = -1;
        }
        if (narrowed.free[i] < 0) {
            continue;
        }
        ++narrowed.placeable;
        narrowed.largest_free = std::max(narrowed.largest_free, narrowed.free[i]);
        narrowed.free_milli += narrowed.free[i];
        if (narrowed.free[i] == kWholeGpuMilli) {
            ++narrowed.whole;
            narrowed.whole_healthy = static_cast<std::int16_t>(
                narrowed.whole_healthy + (node.gpus[i].health == GpuHealth::Healthy)
            );
        }
    }
    return narrowed;
}

int Ask::choose_share(const NodeView& view) const {
    int best = -1;
    std::int64_t best_cost = 0;
    for (int i = 0; i < view.gpus; ++i) {
        const std::int64_t free = view.free[static_cast<std::size_t>(i)];
        if (free < milli()) {
            continue;
        }
        const std::int64_t left = free - milli();
        std::int64_t cost = request_->packing == Packing::Spread
                                ? -left
                                : kCrumbsLeft * left + (free == kWholeGpuMilli ? kOpensGpu : 0);
        if ((view.degraded >> i & 1U) != 0) {
            cost += kDegradedGpu;
        }
        if (best < 0 || cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

std::int64_t Ask::packed_cost(const NodeView& view, std::int64_t count, const CostTerms& terms)
    const {
    const std::int64_t taken = request_->gpu_count == 0 ? 0 : count * milli();
    const std::int64_t growth = stranded(
                                    view.free_milli - taken,
                                    view.cpu_milli - cpu_for_one(view) * count,
                                    view.memory_mib - memory_for_one(view) * count,
                                    terms
                                ) -
                                stranded(view.free_milli, view.cpu_milli, view.memory_mib, terms);
    std::int64_t cost = kStranded * growth;
    if (request_->gpu_count == 0) {
        return cost + view.free_milli * kIdleGpusBeside / 100;
    }
    if (is_share()) {
        const int gpu = choose_share(view);
        const std::int64_t free = view.free[static_cast<std::size_t>(gpu)];
        cost += kCrumbsLeft * (free - milli()) + (free == kWholeGpuMilli ? kOpensGpu : 0);
    } else {
        cost += kWholeLeft * (view.whole - count);
        const bool breaks_node =
            view.gpus >= kBigNodeGpus && view.whole == view.gpus && count < view.gpus;
        cost += breaks_node ? kBreaksNode : 0;
    }
    return cost;
}

std::int64_t Ask::cost(
    const NodeView& view, std::int64_t count, const CostTerms& terms, CostRule rule
) const {
    if (rule == CostRule::FirstFit) {
        return 0;
    }
    const std::int64_t taken = count * milli();
    if (rule == CostRule::BestFit) {
        return view.free_milli - taken;
    }
    std::int64_t cost = 0;
    if (request_->packing == Packing::Spread) {
        cost = -kStranded * (view.free_milli - taken);
    } else {
        cost = packed_cost(view, count, terms);
    }
    if (allowed_.empty() && request_->gpu_count > 0) {
        cost += kStranded * taken * pressure_of(view.model, terms) >> kPressureShift;
    }
    if (is_share()) {
        const int gpu = choose_share(view);
        cost += (view.degraded >> gpu & 1U) != 0 ? kDegradedGpu : 0;
    } else if (count > view.whole_healthy && request_->gpu_count > 0) {
        cost += kDegradedGpu * (count - view.whole_healthy);
    }
    return cost;
}

}  // namespace compute::capacity
