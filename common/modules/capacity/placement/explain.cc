#include "modules/capacity/placement/explain.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace compute::capacity {
namespace {

using Count = std::int64_t Explanation::Filtered::*;

// How many GPUs one node has to give for its part of the claim. An exclusive claim that leaves its
// nodes' size open is measured against each node's own.
std::int64_t part_of(const PlacementRequest& request, const NodeView& view) {
    if (request.gpu_count == 0) {
        return 0;
    }
    if (request.gpus_per_node) {
        return *request.gpus_per_node;
    }
    return request.is_exclusive ? std::min<std::int64_t>(request.gpu_count, view.gpus) : 1;
}

// The node's GPUs that the claim may use, in whatever state.
std::int64_t count_allowed(const IndexedNode& node, const NodeView& view, const Ask& ask) {
    if (!ask.needs_narrowing(view)) {
        return ask.is_allowed_model(view.model) ? view.gpus : 0;
    }
    return std::count_if(node.gpus.begin(), node.gpus.end(), [&](const IndexedGpu& gpu) {
        return ask.is_allowed_gpu(gpu.model);
    });
}

bool has_room_on_gpus(const NodeView& view, const Ask& ask, std::int64_t part) {
    if (part == 0) {
        return true;
    }
    return ask.is_share() ? view.largest_free >= ask.milli() : view.whole >= part;
}

// The first reason in the order of the pipeline; nullptr when the node could hold its part.
Count find_reason(const IndexedNode& node, const NodeView& view, const Ask& ask, bool may_stand) {
    const PlacementRequest& request = ask.request();
    const std::int64_t part = part_of(request, view);
    if (!view.is_ready) {
        return &Explanation::Filtered::disconnected;
    }
    if (!view.is_enabled) {
        return &Explanation::Filtered::cordoned;
    }
    const std::int64_t allowed = count_allowed(node, view, ask);
    const bool is_other_size = request.is_exclusive && part > 0 && view.gpus != part;
    const bool is_shared_in_vain = ask.is_share() && !request.may_share_gpus;
    if (allowed < part || (part == 0 && request.gpu_count > 0) || is_other_size ||
        is_shared_in_vain) {
        return &Explanation::Filtered::model;
    }
    if (view.placeable < part) {
        return &Explanation::Filtered::health;
    }
    if (!may_stand || !has_room_on_gpus(view, ask, part) ||
        (request.is_exclusive && !view.is_untouched)) {
        return &Explanation::Filtered::busy;
    }
    const std::int64_t times = std::max<std::int64_t>(part, 1);
    if (!request.is_exclusive && ask.cpu_for_one(view) * times > view.cpu_milli) {
        return &Explanation::Filtered::cpu;
    }
    if (!request.is_exclusive && ask.memory_for_one(view) * times > view.memory_mib) {
        return &Explanation::Filtered::memory;
    }
    return nullptr;
}

std::int64_t hole_of(const NodeView& view, const Ask& ask) {
    return ask.is_share() ? view.largest_free : view.whole;
}

}  // namespace

Explanation explain(NodePool& pool, const Ask& ask, EpochMs now) {
    const PlacementRequest& request = ask.request();
    Explanation explanation;
    const NodePool::Window window =
        NodePool::window(request.starts_at, request.ends_at, now, ask.needs_host());
    std::int64_t fitting = 0;
    std::int64_t fitting_gpus = 0;
    for (std::size_t place = 0; place < pool.size(); ++place) {
        const IndexedNode& node = pool.node(place);
        const NodeView& known = pool.view(place, window);
        NodeView narrowed;
        const bool is_narrow = ask.needs_narrowing(known);
        if (is_narrow) {
            narrowed = ask.narrow(known, node);
        }
        const NodeView& view = is_narrow ? narrowed : known;
        ++explanation.nodes;
        const bool may_stand = ask.may_stand(view.domain, place);
        const Count reason = find_reason(node, view, ask, may_stand);
        if (reason != nullptr) {
            ++(explanation.filtered.*reason);
        } else {
            ++fitting;
            fitting_gpus += ask.count_fitting(view, request.gpus_per_node.value_or(kMaxGpus));
        }
        if (view.is_usable() && view.gpus > 0 && ask.is_meant(node.facts, place)) {
            explanation.largest_hole = std::max(explanation.largest_hole, hole_of(view, ask));
        }
    }
    // Enough of them, and still no place: they are not together.
    if (fitting_gpus >= request.gpu_count && request.fabric == FabricWish::Require &&
        request.gpu_count > 1) {
        explanation.filtered.fabric += fitting;
    }
    return explanation;
}

Json explanation_json(const Explanation& explanation) {
    const Explanation::Filtered& filtered = explanation.filtered;
    Json json{
        {"nodes", explanation.nodes},
        {"filtered",
         {{"model", filtered.model},
          {"busy", filtered.busy},
          {"health", filtered.health},
          {"disconnected", filtered.disconnected},
          {"cordoned", filtered.cordoned},
          {"cpu", filtered.cpu},
          {"memory", filtered.memory},
          {"fabric", filtered.fabric}}},
        {"largestHole", explanation.largest_hole},
        {"earliestStart", nullptr}};
    if (explanation.earliest_start) {
        json["earliestStart"] = *explanation.earliest_start;
    }
    return json;
}

}  // namespace compute::capacity
