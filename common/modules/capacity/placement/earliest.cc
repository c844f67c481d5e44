#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "modules/capacity/placement/explain.h"

namespace compute::capacity {
namespace {

// Views computed before the search settles for a time that is certain but may be late.
constexpr int kBudget = 8'192;

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

    // A node that gave `before` now gives `count`.
    void change(const NodeView& view, std::int64_t before, std::int64_t count) {
        alone_ +=
            static_cast<int>(suffices_alone(count)) - static_cast<int>(suffices_alone(before));
        // Whole nodes are counted by size: only equal ones make a claim together.
        const std::int64_t size = has_open_size_ ? std::max(before, count) : 0;
        const bool divides = size == 0 || request_->gpu_count % size == 0;
        if (is_one_node_ || !divides || (needs_domain_ && view.domain == kNoDomain)) {
            return;
        }
        std::int64_t& sum = sums_[{needs_domain_ ? view.domain : 0, size}];
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

// When a view stops being what it is, for a window of `duration` that moves on.
EpochMs next_change(const Reach& reach, EpochMs duration) {
    const bool has_end = reach.to_high != kEverMs && duration != kEverMs;
    return std::min(reach.from_high, has_end ? reach.to_high - duration + 1 : kEverMs);
}

// Follows all nodes through time: whenever what one of them can give may change, it is looked at
// again, and the first time at which all together suffice is the answer.
class Search {
public:
    Search(NodePool& pool, const Ask& ask, EpochMs not_before, EpochMs now)
        : pool_(&pool),
          ask_(&ask),
          start_(not_before),
          now_(now),
          duration_(
              ask.request().ends_at == kEverMs ? kEverMs
                                               : ask.request().ends_at - ask.request().starts_at
          ),
          tally_(ask),
          given_(pool.size()) {}

    std::optional<EpochMs> run() {
        for (std::size_t place = 0; place < pool_->size(); ++place) {
            const NodeView& view = pool_->view(place, start_, end_of(start_), now_);
            if (view.is_usable() && ask_->is_meant(view, place)) {
                meant_.push_back(place);
                if (look(place, view)) {
                    return start_;
                }
            }
        }
        EpochMs at = start_;
        for (int looked = 0; !tally_.has_enough(); ++looked) {
            if (changes_.empty()) {
                return std::nullopt;
            }
            if (looked >= kBudget) {
                return find_quiet();
            }
            at = changes_.top().first;
            for (; !changes_.empty() && changes_.top().first == at; ++looked) {
                const std::size_t place = changes_.top().second;
                changes_.pop();
                if (look(place, pool_->node(place).view(at, end_of(at)))) {
                    return at;
                }
            }
        }
        return at;
    }

private:
    [[nodiscard]] EpochMs end_of(EpochMs at) const {
        return duration_ == kEverMs ? kEverMs : at + duration_;
    }

    // True when the node alone suffices: that settles it, whatever else changes at this time.
    bool look(std::size_t place, const NodeView& view) {
        const bool is_narrow = ask_->needs_narrowing(view);
        std::int64_t count = ask_->count_fitting(
            is_narrow ? ask_->narrow(view, pool_->node(place)) : view, tally_.want()
        );
        count = count < tally_.least() ? 0 : count;
        if (const EpochMs next = next_change(view.reach, duration_); next < kEverMs) {
            changes_.emplace(next, place);
        }
        if (count != given_[place]) {
            tally_.change(view, std::exchange(given_[place], count), count);
        }
        return tally_.suffices_alone(count);
    }

    // From when on so many nodes are without any use that the claim fits: late, but certain.
    std::optional<EpochMs> find_quiet() const {
        std::vector<std::pair<EpochMs, std::size_t>> quiet;
        for (const std::size_t place : meant_) {
            const EpochMs at = pool_->node(place).quiet_from();
            if (at < kEverMs) {
                quiet.emplace_back(std::max(at, start_), place);
            }
        }
        std::sort(quiet.begin(), quiet.end());
        Tally tally(*ask_);
        for (const auto& [at, place] : quiet) {
            const IndexedNode& node = pool_->node(place);
            NodeView view = node.idle_view();
            if (ask_->needs_narrowing(view)) {
                view = ask_->narrow(view, node);
            }
            const std::int64_t count = ask_->count_fitting(view, tally.want());
            if (count < tally.least()) {
                continue;
            }
            tally.change(view, 0, count);
            if (tally.has_enough()) {
                return at;
            }
        }
        return std::nullopt;
    }

    NodePool* pool_;
    const Ask* ask_;
    EpochMs start_;
    EpochMs now_;
    EpochMs duration_;
    Tally tally_;
    std::vector<std::int64_t> given_;
    std::vector<std::size_t> meant_;
    // Soonest first, then by place.
    using Change = std::pair<EpochMs, std::size_t>;
    std::priority_queue<Change, std::vector<Change>, std::greater<>> changes_;
};

}  // namespace

std::optional<EpochMs> find_earliest_start(
    NodePool& pool, const Ask& ask, EpochMs not_before, EpochMs now
) {
    return Search(pool, ask, not_before, now).run();
}

}  // namespace compute::capacity
