#include "modules/capacity/placement/placement_index.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "modules/capacity/placement/choose.h"
#include "modules/capacity/placement/explain.h"

namespace compute::capacity {
namespace {

struct Hold {
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
    std::vector<PlannedBooking> bookings;
    std::size_t open_nodes = 0;  // whose version does not include it yet
};

// Adds (sign 1) or takes away (-1) what a hold uses on one node.
void use(IndexedNode& node, const Hold& hold, std::int64_t sign) {
    for (const PlannedBooking& booking : hold.bookings) {
        if (booking.node_id == node.id) {
            node.use.add(
                hold.starts_at,
                hold.ends_at,
                node.find_gpu(booking.gpu_uuid),
                sign * booking.milli,
                {.cpu_milli = sign * booking.cpu_milli, .memory_mib = sign * booking.memory_mib}
            );
        }
    }
}

// The GPUs that a node gives: healthy ones first, then by index.
std::vector<std::size_t> choose_gpus(
    const IndexedNode& node, const NodeView& view, const Ask& ask, std::int64_t count
) {
    std::vector<std::size_t> gpus;
    if (count == 0) {
        return gpus;
    }
    if (ask.is_share()) {
        gpus.push_back(static_cast<std::size_t>(ask.choose_share(view)));
        return gpus;
    }
    for (const GpuHealth health : {GpuHealth::Healthy, GpuHealth::Degraded}) {
        for (std::size_t i = 0; i < node.gpus.size(); ++i) {
            if (static_cast<std::int64_t>(gpus.size()) < count && view.free[i] == kWholeGpuMilli &&
                node.gpus[i].health == health) {
                gpus.push_back(i);
            }
        }
    }
    std::sort(gpus.begin(), gpus.end());
    return gpus;
}

// The bookings of one chosen node. An exclusive claim takes all CPU and memory there is, the
// remainder of the division with its first booking.
void plan_bookings(
    Placement& placement,
    const IndexedNode& node,
    const NodeView& view,
    const Ask& ask,
    std::int64_t count
) {
    const std::vector<std::size_t> gpus = choose_gpus(node, view, ask, count);
    const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(gpus.size(), 1));
    PlannedBooking booking{
        .node_id = node.id,
        .gpu_uuid = {},
        .milli = gpus.empty() ? 0 : ask.milli(),
        .cpu_milli = ask.cpu_for_one(view),
        .memory_mib = ask.memory_for_one(view)};
    HostAmount rest;
    if (ask.request().is_exclusive) {
        booking.cpu_milli = node.cpu_milli / parts;
        booking.memory_mib = node.memory_mib / parts;
        rest = {.cpu_milli = node.cpu_milli % parts, .memory_mib = node.memory_mib % parts};
    }
    const std::size_t first = placement.bookings.size();
    for (std::int64_t i = 0; i < parts; ++i) {
        if (!gpus.empty()) {
            booking.gpu_uuid = node.gpus[gpus[static_cast<std::size_t>(i)]].uuid;
        }
        placement.bookings.push_back(booking);
    }
    placement.bookings[first].cpu_milli += rest.cpu_milli;
    placement.bookings[first].memory_mib += rest.memory_mib;
    placement.nodes.push_back({.node_id = node.id, .version = node.version});
}

DemandWindow::Ask demand_of(const PlacementRequest& request, const NodePool& pool) {
    DemandWindow::Ask ask;
    const std::int64_t count = std::max<std::int64_t>(request.gpu_count, 1);
    ask.gpu_milli = request.gpu_count * request.gpu_milli;
    // A claim that takes its GPUs' share of a node asks for what the pool has with them.
    const HostAmount mean = pool.mean_with(ask.gpu_milli);
    ask.cpu_milli = request.cpu_milli_per_gpu ? *request.cpu_milli_per_gpu * count : mean.cpu_milli;
    ask.memory_mib =
        request.memory_mib_per_gpu ? *request.memory_mib_per_gpu * count : mean.memory_mib;
    for (const std::string& name : request.gpu_models) {
        if (const auto model = pool.models().find(name)) {
            ask.models.push_back(*model);
        }
    }
    return ask;
}

}  // namespace

struct PlacementIndex::Impl {
    std::unordered_map<std::string, NodePool> pools;
    std::unordered_map<std::string, std::string> pool_of;   // by node
    std::unordered_map<std::string, std::int64_t> removed;  // versions of nodes that are gone
    std::unordered_map<HoldId, Hold> holds;
    HoldId last_hold = 0;
    Chooser chooser;

    [[nodiscard]] NodePool* find_pool(const std::string& pool_id) {
        const auto pool = pools.find(pool_id);
        return pool == pools.end() ? nullptr : &pool->second;
    }

    struct Spot {
        NodePool* pool = nullptr;
        std::size_t place = 0;
    };
    [[nodiscard]] std::optional<Spot> find_node(const std::string& node_id) {
        const auto pool_id = pool_of.find(node_id);
        if (pool_id == pool_of.end()) {
            return std::nullopt;
        }
        NodePool& pool = pools.at(pool_id->second);
        return Spot{&pool, *pool.find(node_id)};
    }

    // What ended before `now` is let go of: a node that only this process books on is never read
    // again.
    HoldId add_hold(Hold hold, EpochMs now) {
        const HoldId id = ++last_hold;
        for_each_node(hold, [&](IndexedNode& node) {
            node.use.forget_before(now);
            use(node, hold, 1);
            node.holds.push_back({.id = id, .committed = std::nullopt});
            ++hold.open_nodes;
        });
        if (hold.open_nodes > 0) {
            holds.emplace(id, std::move(hold));
        }
        return id;
    }

    template <class Visit>
    void for_each_node(const Hold& hold, Visit visit) {
        // A node's bookings stand together.
        const std::string* last = nullptr;
        for (const PlannedBooking& booking : hold.bookings) {
            if (last != nullptr && *last == booking.node_id) {
                continue;
            }
            last = &booking.node_id;
            if (const auto spot = find_node(booking.node_id)) {
                visit(spot->pool->change(spot->place));
                spot->pool->note_holds(spot->place);
            }
        }
    }

    // One node less waits for the hold.
    void close(HoldId id) {
        const auto hold = holds.find(id);
        if (--hold->second.open_nodes == 0) {
            holds.erase(hold);
        }
    }

    // Takes into the node's version the holds that follow on it without a gap: their bookings are
    // on it already. One that an older reading has brought in is taken off again.
    void settle(IndexedNode& node) {
        for (bool is_settled = false; !is_settled;) {
            is_settled = true;
            for (auto hold = node.holds.begin(); hold != node.holds.end(); ++hold) {
                if (!hold->committed || *hold->committed > node.version + 1) {
                    continue;
                }
                if (*hold->committed <= node.version) {
                    use(node, holds.at(hold->id), -1);
                }
                node.version = std::max(node.version, *hold->committed);
                close(hold->id);
                node.holds.erase(hold);
                is_settled = false;
                break;
            }
        }
    }

    PlaceResult place(const std::string& pool_id, const PlacementRequest& request, EpochMs now);
    Explanation explain_refusal(NodePool& pool, const Ask& ask, EpochMs now);
};

PlaceResult PlacementIndex::Impl::place(
    const std::string& pool_id, const PlacementRequest& request, EpochMs now
) {
    NodePool* pool = find_pool(pool_id);
    if (pool == nullptr || request.starts_at >= request.ends_at) {
        return {.placement = std::nullopt, .explanation = Explanation{}};
    }
    const Ask ask(request, *pool);
    ViewSource views = ViewSource::of_window(*pool, ask, now);
    const std::vector<ChosenNode>& chosen = chooser.choose(views, ask, pool->cost_terms());
    if (chosen.empty()) {
        return {.placement = std::nullopt, .explanation = explain_refusal(*pool, ask, now)};
    }
    Placement placement;
    for (const ChosenNode& chosen_node : chosen) {
        const IndexedNode& node = pool->node(chosen_node.place);
        const NodeView& view = views.view(chosen_node.place);
        if (ask.needs_narrowing(view)) {  // its other GPUs are not for this claim
            plan_bookings(placement, node, ask.narrow(view, node), ask, chosen_node.count);
        } else {
            plan_bookings(placement, node, view, ask, chosen_node.count);
        }
    }
    return {.placement = std::move(placement), .explanation = std::nullopt};
}

Explanation PlacementIndex::Impl::explain_refusal(NodePool& pool, const Ask& ask, EpochMs now) {
    Explanation explanation = explain(pool, ask, now);
    explanation.earliest_start =
        capacity::find_earliest_start(pool, ask, ask.request().starts_at, now);
    explanation.could_ever_fit = explanation.earliest_start.has_value();
    if (!explanation.could_ever_fit) {
        ViewSource views = ViewSource::of_idle(pool);
        explanation.could_ever_fit = !chooser.choose(views, ask, pool.cost_terms()).empty();
    }
    return explanation;
}

PlacementIndex::PlacementIndex() : impl_(std::make_unique<Impl>()) {}
PlacementIndex::~PlacementIndex() = default;
PlacementIndex::PlacementIndex(PlacementIndex&&) noexcept = default;
PlacementIndex& PlacementIndex::operator=(PlacementIndex&&) noexcept = default;

bool PlacementIndex::put_node(const NodeState& state) {
    if (const auto gone = impl_->removed.find(state.id);
        gone != impl_->removed.end() && state.version <= gone->second) {
        return false;
    }
    std::vector<NodeHold> kept;
    if (const auto spot = impl_->find_node(state.id)) {
        const IndexedNode& known = spot->pool->node(spot->place);
        if (state.version <= known.version) {
            return false;
        }
        kept = known.holds;
        if (impl_->pool_of.at(state.id) != state.pool_id) {
            spot->pool->remove(spot->place);
        }
    }
    NodePool& pool = impl_->pools[state.pool_id];
    const std::size_t place = pool.put(state);
    IndexedNode& node = pool.change(place);
    impl_->pool_of[state.id] = state.pool_id;
    node.holds.clear();
    for (const NodeHold& hold : kept) {
        if (!hold.committed || *hold.committed > state.version) {
            use(node, impl_->holds.at(hold.id), 1);
            node.holds.push_back(hold);
        } else {
            impl_->close(hold.id);
        }
    }
    impl_->settle(node);
    pool.note_holds(place);
    return true;
}

void PlacementIndex::remove_node(const std::string& node_id, std::int64_t version) {
    std::int64_t& removed_at = impl_->removed[node_id];
    removed_at = std::max(removed_at, version);
    if (const auto spot = impl_->find_node(node_id)) {
        for (const NodeHold& hold : spot->pool->node(spot->place).holds) {
            impl_->close(hold.id);
        }
        spot->pool->remove(spot->place);
        impl_->pool_of.erase(node_id);
    }
}

std::optional<std::int64_t> PlacementIndex::find_version(const std::string& node_id) const {
    const auto spot = impl_->find_node(node_id);
    return spot ? std::optional(spot->pool->node(spot->place).version) : std::nullopt;
}

bool PlacementIndex::may_be_own(const std::string& node_id, std::int64_t version) const {
    const auto spot = impl_->find_node(node_id);
    if (!spot) {
        return false;
    }
    const IndexedNode& node = spot->pool->node(spot->place);
    return version - node.version <= static_cast<std::int64_t>(node.holds.size());
}

std::size_t PlacementIndex::count_nodes() const {
    return impl_->pool_of.size();
}

PlaceResult PlacementIndex::place(
    const std::string& pool_id, const PlacementRequest& request, EpochMs now
) {
    return impl_->place(pool_id, request, now);
}

HoldResult PlacementIndex::hold(
    const std::string& pool_id, const PlacementRequest& request, EpochMs now
) {
    HoldResult held{.result = impl_->place(pool_id, request, now), .hold = 0};
    if (held.result.placement) {
        held.hold = impl_->add_hold(
            {.starts_at = request.starts_at,
             .ends_at = request.ends_at,
             .bookings = held.result.placement->bookings},
            now
        );
    }
    return held;
}

HoldId PlacementIndex::hold_placement(
    const Placement& placement, EpochMs starts_at, EpochMs ends_at
) {
    return impl_->add_hold(
        {.starts_at = starts_at, .ends_at = ends_at, .bookings = placement.bookings}, 0
    );
}

void PlacementIndex::commit_hold(HoldId hold, const std::vector<NodeStamp>& committed) {
    for (const NodeStamp& stamp : committed) {
        const auto spot = impl_->find_node(stamp.node_id);
        if (!spot) {
            continue;
        }
        IndexedNode& node = spot->pool->change(spot->place);
        for (NodeHold& entry : node.holds) {
            if (entry.id == hold) {
                entry.committed = stamp.version;
            }
        }
        impl_->settle(node);
        spot->pool->note_holds(spot->place);
    }
}

void PlacementIndex::drop_hold(HoldId hold) {
    const auto found = impl_->holds.find(hold);
    if (found == impl_->holds.end()) {
        return;
    }
    const Hold dropped = std::move(found->second);
    impl_->holds.erase(found);
    impl_->for_each_node(dropped, [&](IndexedNode& node) {
        if (std::erase_if(node.holds, [&](const NodeHold& entry) { return entry.id == hold; }) >
            0) {
            use(node, dropped, -1);
        }
    });
}

std::optional<EpochMs> PlacementIndex::find_earliest_start(
    const std::string& pool_id, const PlacementRequest& request, EpochMs not_before
) {
    NodePool* pool = impl_->find_pool(pool_id);
    if (pool == nullptr || request.starts_at >= request.ends_at) {
        return std::nullopt;
    }
    return capacity::find_earliest_start(*pool, Ask(request, *pool), not_before, not_before);
}

bool PlacementIndex::could_ever_fit(const std::string& pool_id, const PlacementRequest& request) {
    NodePool* pool = impl_->find_pool(pool_id);
    if (pool == nullptr) {
        return false;
    }
    ViewSource views = ViewSource::of_idle(*pool);
    return !impl_->chooser.choose(views, Ask(request, *pool), pool->cost_terms()).empty();
}

ExtendResult PlacementIndex::check_extend(
    const std::vector<PlannedBooking>& held, EpochMs from, EpochMs to
) const {
    ExtendResult result{.free_until = to, .nodes = {}};
    std::map<std::string, HostAmount> by_node;
    for (const PlannedBooking& booking : held) {
        by_node[booking.node_id] +=
            {.cpu_milli = booking.cpu_milli, .memory_mib = booking.memory_mib};
        const auto spot = impl_->find_node(booking.node_id);
        if (!spot || booking.gpu_uuid.empty()) {
            continue;
        }
        const IndexedNode& node = spot->pool->node(spot->place);
        if (const int gpu = node.find_gpu(booking.gpu_uuid); gpu >= 0) {
            result.free_until =
                node.use.find_first(from, result.free_until, [&](const Timeline::Step& step) {
                    return step.gpu_milli[gpu] + booking.milli > kWholeGpuMilli;
                });
        }
    }
    for (const auto& [node_id, amount] : by_node) {
        const auto spot = impl_->find_node(node_id);
        if (!spot) {
            result.free_until = from;
            continue;
        }
        const IndexedNode& node = spot->pool->node(spot->place);
        result.nodes.push_back({.node_id = node_id, .version = node.version});
        const HostAmount wanted = amount;
        result.free_until =
            node.use.find_first(from, result.free_until, [&](const Timeline::Step& step) {
                return step.host.cpu_milli + wanted.cpu_milli > node.cpu_milli ||
                       step.host.memory_mib + wanted.memory_mib > node.memory_mib;
            });
    }
    return result;
}

std::vector<ModelCapacity> PlacementIndex::summarize(
    const std::string& pool_id, EpochMs from, EpochMs to
) {
    NodePool* pool = impl_->find_pool(pool_id);
    return pool == nullptr ? std::vector<ModelCapacity>{} : summarize_pool(*pool, from, to);
}

void PlacementIndex::note_demand(
    const std::string& pool_id, const PlacementRequest& request, EpochMs at
) {
    if (NodePool* pool = impl_->find_pool(pool_id)) {
        pool->note_demand(demand_of(request, *pool), at);
    }
}

void PlacementIndex::compare_by(CostRule rule) {
    impl_->chooser = Chooser(rule);
}

}  // namespace compute::capacity
