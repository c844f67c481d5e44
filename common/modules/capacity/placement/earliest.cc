#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "modules/capacity/placement/explain.h"
#include "modules/capacity/placement/next_fit.h"
#include "modules/capacity/placement/tally.h"

namespace compute::capacity {
namespace {

// The work after which the search settles for a time that is certain but may be late: passes over
// one node's steps in search of a node that holds the claim alone, and nodes looked at again in
// search of several.
constexpr int kPasses = 1'024;
constexpr int kLooks = 1'024;

// When a view stops being what it is, for a window of `duration` that moves on.
EpochMs next_change(const Reach& reach, EpochMs duration) {
    const bool has_end = reach.to_high != kEverMs && duration != kEverMs;
    return std::min(reach.from_high, has_end ? reach.to_high - duration + 1 : kEverMs);
}

// First the nodes that could hold the claim alone, each by itself; then, up to the time found, all
// together through time: whenever what one of them can give may change, it is looked at again, and
// the first time at which the sum suffices is the answer.
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
        if (look_at_start()) {
            return start_;
        }
        if (tally_.may_stand_alone()) {
            find_quiet_node();
            find_node();
        }
        if (!tally_.must_stand_alone()) {
            follow_all();
        }
        return best_ == kEverMs ? std::nullopt : std::optional(best_);
    }

private:
    using Change = std::pair<EpochMs, std::size_t>;

    [[nodiscard]] EpochMs end_of(EpochMs at) const {
        return duration_ == kEverMs ? kEverMs : at + duration_;
    }

    // True when the claim fits at once. Notes for each node when it may change.
    bool look_at_start() {
        const NodePool::Window window =
            NodePool::window(start_, end_of(start_), now_, ask_->needs_host());
        for (std::size_t place = 0; place < pool_->size(); ++place) {
            const NodeFacts& node = pool_->facts(place);
            if (node.is_usable() && ask_->is_meant(node, place)) {
                meant_.push_back(place);
                if (look(place, pool_->view(place, window))) {
                    return true;
                }
            }
        }
        return tally_.has_enough();
    }

    // The first time at which a node that could hold the claim is without any use: known of each
    // node without a look at its steps.
    void find_quiet_node() {
        const std::int64_t want = std::max<std::int64_t>(ask_->request().gpu_count, 1);
        for (const std::size_t place : meant_) {
            const IndexedNode& node = pool_->node(place);
            const EpochMs quiet = std::max(node.use.quiet_from(), start_);
            if (quiet < best_ && count_idle(node, want) >= want) {
                best_ = quiet;
            }
        }
    }

    // The first time at which one node holds the claim.
    void find_node() {
        int passes = kPasses;
        // The soonest first: what is found bounds the search on all others.
        std::vector<Change> soonest = changes_;
        std::make_heap(soonest.begin(), soonest.end(), std::greater<>());
        while (!soonest.empty() && passes > 0 && soonest.front().first < best_) {
            // Before its first change the node does not fit, as at the start.
            const auto [at, place] = soonest.front();
            const auto fit = find_next_fit(
                pool_->node(place),
                *ask_,
                {.from = at, .before = best_, .duration = duration_},
                passes
            );
            best_ = fit.value_or(best_);
            std::pop_heap(soonest.begin(), soonest.end(), std::greater<>());
            soonest.pop_back();
        }
    }

    // The first time before the best known at which all nodes together hold the claim.
    void follow_all() {
        std::erase_if(changes_, [&](const Change& change) { return change.first >= best_; });
        std::make_heap(changes_.begin(), changes_.end(), std::greater<>());
        for (int looked = 0; !changes_.empty();) {
            const EpochMs at = changes_.front().first;
            if (looked >= kLooks) {
                best_ = std::min(best_, find_quiet().value_or(kEverMs));
                return;
            }
            for (; !changes_.empty() && changes_.front().first == at; ++looked) {
                const std::size_t place = changes_.front().second;
                std::pop_heap(changes_.begin(), changes_.end(), std::greater<>());
                changes_.pop_back();
                const std::size_t kept = changes_.size();
                const bool is_enough =
                    look(place, pool_->node(place).view(at, end_of(at), ask_->needs_host()));
                if (is_enough) {
                    best_ = at;
                    return;
                }
                if (changes_.size() > kept) {
                    if (changes_.back().first < best_) {
                        std::push_heap(changes_.begin(), changes_.end(), std::greater<>());
                    } else {
                        changes_.pop_back();
                    }
                }
            }
            if (tally_.has_enough()) {
                best_ = at;
                return;
            }
        }
    }

    // How many GPUs of the node the claim could have if nothing were booked.
    [[nodiscard]] std::int64_t count_idle(const IndexedNode& node, std::int64_t want) const {
        const NodeView view = node.idle_view();
        return ask_->count_fitting(
            ask_->needs_narrowing(view) ? ask_->narrow(view, node) : view, want
        );
    }

    // True when the node alone suffices: that settles it, whatever else changes at this time.
    bool look(std::size_t place, const NodeView& view) {
        const bool is_narrow = ask_->needs_narrowing(view);
        std::int64_t count = ask_->count_fitting(
            is_narrow ? ask_->narrow(view, pool_->node(place)) : view, tally_.want()
        );
        count = count < tally_.least() ? 0 : count;
        if (const EpochMs next = next_change(view.reach, duration_); next < kEverMs) {
            changes_.emplace_back(next, place);
        }
        if (count != given_[place]) {
            tally_.change(view.domain, std::exchange(given_[place], count), count);
        }
        return tally_.suffices_alone(count);
    }

    // From when on so many nodes are without any use that the claim fits: late, but certain.
    std::optional<EpochMs> find_quiet() const {
        std::vector<std::pair<EpochMs, std::size_t>> quiet;
        for (const std::size_t place : meant_) {
            const EpochMs at = pool_->node(place).use.quiet_from();
            if (at < kEverMs) {
                quiet.emplace_back(std::max(at, start_), place);
            }
        }
        std::sort(quiet.begin(), quiet.end());
        Tally tally(*ask_);
        for (const auto& [at, place] : quiet) {
            const IndexedNode& node = pool_->node(place);
            const std::int64_t count = count_idle(node, tally.want());
            if (count < tally.least()) {
                continue;
            }
            tally.change(node.facts.domain, 0, count);
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
    EpochMs best_ = kEverMs;
    // When a node may change and its place; a heap of the soonest once all are followed.
    std::vector<Change> changes_;
};

}  // namespace

std::optional<EpochMs> find_earliest_start(
    NodePool& pool, const Ask& ask, EpochMs not_before, EpochMs now
) {
    return Search(pool, ask, not_before, now).run();
}

}  // namespace compute::capacity
