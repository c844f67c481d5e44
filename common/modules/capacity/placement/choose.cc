#include "modules/capacity/placement/choose.h"

#include <algorithm>
#include <tuple>

namespace compute::capacity {
namespace {

// So many nodes before a node is looked at, its data is asked for.
constexpr std::size_t kAhead = 6;

// Calls `visit(place, view, count)` for every node that can give at least `least` of `want` GPUs.
template <class Visit>
void for_each_fitting(
    ViewSource& views, const Ask& ask, std::int64_t want, std::int64_t least, Visit visit
) {
    const std::size_t size = views.size();
    for (std::size_t place = 0; place < size; ++place) {
        if (!views.is_open(ask, place)) {
            continue;
        }
        views.prefetch(place + kAhead);
        const NodeView& view = views.view(place);
        if (ask.needs_narrowing(view)) {
            const NodeView narrowed = ask.narrow(view, views.node(place));
            const std::int64_t count = ask.count_fitting(narrowed, want);
            if (count >= least) {
                visit(place, narrowed, count);
            }
            continue;
        }
        const std::int64_t count = ask.count_fitting(view, want);
        if (count >= least) {
            visit(place, view, count);
        }
    }
}

bool is_cheaper(const Candidate& a, const Candidate& b) {
    return std::tie(a.cost, a.is_claimed, a.place) < std::tie(b.cost, b.is_claimed, b.place);
}

}  // namespace

const std::vector<ChosenNode>& Chooser::choose(
    ViewSource& views, const Ask& ask, const CostTerms& terms
) {
    chosen_.clear();
    const PlacementRequest& request = ask.request();
    bool has_chosen = false;
    if (request.gpu_count == 0 || ask.is_share()) {
        has_chosen = choose_one(views, ask, 1, terms);
    } else if (request.gpus_per_node) {
        has_chosen = choose_equal(views, ask, *request.gpus_per_node, terms);
    } else if (request.is_exclusive) {
        has_chosen = choose_whole_nodes(views, ask, terms);
    } else {
        has_chosen =
            (request.gpu_count <= kMaxGpus && choose_one(views, ask, request.gpu_count, terms)) ||
            (request.gpu_count > 1 && choose_fewest(views, ask, terms));
    }
    if (!has_chosen) {
        chosen_.clear();
    }
    std::sort(chosen_.begin(), chosen_.end(), [](const ChosenNode& a, const ChosenNode& b) {
        return a.place < b.place;
    });
    return chosen_;
}

Candidate Chooser::candidate_of(
    const ViewSource& views,
    const Ask& ask,
    std::size_t place,
    const NodeView& view,
    std::int64_t count,
    const CostTerms& terms
) const {
    return {
        .cost = ask.cost(view, count, terms, rule_),
        .place = place,
        .count = count,
        .domain = view.domain,
        .is_claimed = view.is_untouched && views.is_claimed(place)};
}

bool Chooser::choose_one(
    ViewSource& views, const Ask& ask, std::int64_t count, const CostTerms& terms
) {
    Candidate best;
    bool has_best = false;
    for_each_fitting(
        views,
        ask,
        count,
        count,
        [&](std::size_t place, const NodeView& view, std::int64_t /*count*/) {
            const Candidate candidate = candidate_of(views, ask, place, view, count, terms);
            if (!has_best || is_cheaper(candidate, best)) {
                best = candidate;
                has_best = true;
            }
        }
    );
    if (has_best) {
        chosen_.push_back({best.place, ask.request().gpu_count == 0 ? 0 : count});
    }
    return has_best;
}

void Chooser::collect(
    ViewSource& views, const Ask& ask, std::int64_t want, std::int64_t least, const CostTerms& terms
) {
    candidates_.clear();
    for_each_fitting(
        views,
        ask,
        want,
        least,
        [&](std::size_t place, const NodeView& view, std::int64_t count) {
            candidates_.push_back(candidate_of(views, ask, place, view, count, terms));
        }
    );
}

bool Chooser::choose_equal(
    ViewSource& views, const Ask& ask, std::int64_t per_node, const CostTerms& terms
) {
    if (per_node <= 0 || ask.request().gpu_count % per_node != 0) {
        return false;
    }
    if (ask.request().gpu_count == per_node) {
        return choose_one(views, ask, per_node, terms);
    }
    collect(views, ask, per_node, per_node, terms);
    return take_by_fabric(ask, ask.request().gpu_count);
}

// Nodes of one size only: mixed sizes would leave it open what a "node" of the claim is.
bool Chooser::choose_whole_nodes(ViewSource& views, const Ask& ask, const CostTerms& terms) {
    for (std::int64_t size = kMaxGpus; size > 0; --size) {
        if (ask.request().gpu_count % size == 0 && choose_equal(views, ask, size, terms)) {
            return true;
        }
    }
    return false;
}

bool Chooser::choose_fewest(ViewSource& views, const Ask& ask, const CostTerms& terms) {
    collect(views, ask, std::min<std::int64_t>(ask.request().gpu_count, kMaxGpus), 1, terms);
    return take_by_fabric(ask, ask.request().gpu_count);
}

void Chooser::find_runs() {
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        return std::tie(a.domain, a.place) < std::tie(b.domain, b.place);
    });
    runs_.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (i == 0 || candidates_[i].domain != candidates_[i - 1].domain) {
            runs_.push_back(
                {.first = i, .last = i, .gpus = 0, .is_domain = candidates_[i].domain != kNoDomain}
            );
        }
        runs_.back().last = i + 1;
        runs_.back().gpus += candidates_[i].count;
    }
    // Tightest first; what is in no domain comes last. The first node breaks ties: domain ids
    // depend on the order in which nodes came.
    std::sort(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
        return std::make_tuple(!a.is_domain, a.gpus, candidates_[a.first].place) <
               std::make_tuple(!b.is_domain, b.gpus, candidates_[b.first].place);
    });
}

bool Chooser::take_by_fabric(const Ask& ask, std::int64_t count) {
    std::int64_t free = 0;
    for (const Candidate& candidate : candidates_) {
        free += candidate.count;
    }
    if (free < count) {
        return false;
    }
    if (ask.request().fabric == FabricWish::None) {
        take(0, candidates_.size(), count);
        return true;
    }
    find_runs();
    const auto tightest = [&](std::int64_t left) {
        return std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
            return run.is_domain && run.gpus >= left;
        });
    };
    if (const auto run = tightest(count); run != runs_.end()) {
        take(run->first, run->last, count);
        return true;
    }
    if (ask.request().fabric == FabricWish::Require) {
        return false;
    }
    // The fewest domains: the largest whole, until one can take the rest.
    std::int64_t left = count;
    while (left > 0) {
        auto run = tightest(left);
        if (run == runs_.end()) {
            const auto no_domain = std::find_if(runs_.begin(), runs_.end(), [](const Run& other) {
                return !other.is_domain;
            });
            run = no_domain == runs_.begin() ? no_domain : no_domain - 1;
        }
        const std::int64_t taken = std::min(left, run->gpus);
        take(run->first, run->last, taken);
        left -= taken;
        runs_.erase(run);
    }
    return true;
}

void Chooser::take(std::size_t first, std::size_t last, std::int64_t count) {
    const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(last);
    std::sort(begin, end, [](const Candidate& a, const Candidate& b) {
        return a.count != b.count ? a.count > b.count : is_cheaper(a, b);
    });
    auto next = begin;
    while (next->count < count) {
        chosen_.push_back({next->place, next->count});
        count -= next->count;
        ++next;
    }
    // The last node gives what is left: any that can will do, so the cheapest.
    const auto rest = std::partition_point(next, end, [&](const Candidate& candidate) {
        return candidate.count >= count;
    });
    chosen_.push_back({std::min_element(next, rest, is_cheaper)->place, count});
}

}  // namespace compute::capacity
