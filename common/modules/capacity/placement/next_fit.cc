#include "modules/capacity/placement/next_fit.h"

#include <algorithm>
#include <array>

namespace compute::capacity {
namespace {

// What the claim needs of the node, and the starts that a window's steps leave open.
class Walk {
public:
    Walk(const IndexedNode& node, const Ask& ask, const NodeView& idle) : node_(&node) {
        const PlacementRequest& request = ask.request();
        count_ = static_cast<std::size_t>(request.gpu_count);
        is_exclusive_ = request.is_exclusive;
        // An exclusive claim takes what there is; that nothing is used is asked of it instead.
        const std::int64_t times = std::max<std::int64_t>(request.gpu_count, 1);
        cpu_ = is_exclusive_ ? 0 : ask.cpu_for_one(idle) * times;
        memory_ = is_exclusive_ ? 0 : ask.memory_for_one(idle) * times;
        // A whole GPU may have no use at all, a share leaves room for the rest.
        most_used_ = ask.is_share() ? kWholeGpuMilli - ask.milli() : 0;
        for (std::size_t i = 0; i < node.gpus.size(); ++i) {
            if (idle.free[i] >= 0) {
                gpus_[gpu_count_++] = i;
            }
        }
    }

    // The first start from `from` on that the steps of [from, to) leave open; `from` itself when
    // the claim fits there.
    [[nodiscard]] EpochMs pass(EpochMs from, EpochMs to) {
        open_from_.fill(from);
        EpochMs host_from = from;
        const Timeline& use = node_->use;
        std::size_t place = use.after(from);
        place -= place > 0 ? 1 : 0;
        for (; place < use.size(); ++place) {
            const Timeline::Step step = use.step(place);
            if (step.at >= to) {
                break;
            }
            const EpochMs end = place + 1 < use.size() ? use.step(place + 1).at : kEverMs;
            if (end <= from) {
                continue;
            }
            for (std::size_t i = 0; i < gpu_count_; ++i) {
                open_from_[i] = step.gpu_milli[gpus_[i]] > most_used_ ? end : open_from_[i];
            }
            if (is_host_in_the_way(step)) {
                host_from = end;
            }
        }
        return std::max(host_from, gpus_from());
    }

private:
    [[nodiscard]] bool is_host_in_the_way(const Timeline::Step& step) const {
        if (is_exclusive_) {
            const std::int32_t* last = step.gpu_milli + node_->gpus.size();
            return step.host != HostAmount{} ||
                   std::any_of(step.gpu_milli, last, [](std::int32_t used) { return used != 0; });
        }
        return cpu_ > std::max<std::int64_t>(node_->cpu_milli - step.host.cpu_milli, 0) ||
               memory_ > std::max<std::int64_t>(node_->memory_mib - step.host.memory_mib, 0);
    }

    // From when on as many GPUs are open as the claim needs. Before that, fewer are: whatever is in
    // the way of the others ends later, and began before this window ended.
    [[nodiscard]] EpochMs gpus_from() {
        if (count_ == 0) {
            return std::numeric_limits<EpochMs>::min();
        }
        if (count_ > gpu_count_) {
            return kEverMs;
        }
        const auto last = open_from_.begin() + static_cast<std::ptrdiff_t>(count_) - 1;
        std::nth_element(
            open_from_.begin(), last, open_from_.begin() + static_cast<std::ptrdiff_t>(gpu_count_)
        );
        return *last;
    }

    const IndexedNode* node_;
    std::size_t count_ = 0;
    bool is_exclusive_ = false;
    std::int64_t cpu_ = 0;
    std::int64_t memory_ = 0;
    std::int64_t most_used_ = 0;
    std::array<std::size_t, kMaxGpus> gpus_{};  // those the claim may use
    std::size_t gpu_count_ = 0;
    std::array<EpochMs, kMaxGpus> open_from_{};
};

}  // namespace

std::optional<EpochMs> find_next_fit(
    const IndexedNode& node, const Ask& ask, const Starts& starts, int& passes
) {
    NodeView idle = node.idle_view();
    if (ask.needs_narrowing(idle)) {
        idle = ask.narrow(idle, node);
    }
    const std::int64_t want = std::max<std::int64_t>(ask.request().gpu_count, 1);
    if (ask.count_fitting(idle, want) < want) {
        return std::nullopt;
    }
    Walk walk(node, ask, idle);
    for (EpochMs at = starts.from; at < starts.before && passes > 0; --passes) {
        const EpochMs open =
            walk.pass(at, starts.duration == kEverMs ? kEverMs : at + starts.duration);
        if (open == at) {
            return at;
        }
        at = open;
    }
    return std::nullopt;
}

}  // namespace compute::capacity
