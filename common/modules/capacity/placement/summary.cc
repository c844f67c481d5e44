#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "modules/capacity/placement/explain.h"

namespace compute::capacity {
namespace {

struct ModelTally {
    ModelCapacity capacity;
    std::int64_t stranded_milli = 0;
    std::map<DomainId, std::int64_t> whole_nodes;
};

// The node's GPUs, each under its own model.
void tally_gpus(
    std::vector<ModelTally>& tallies, const IndexedNode& node, EpochMs from, EpochMs to
) {
    std::map<ModelId, std::int64_t> free_here;
    const Peak peak = node.use.peak(from, to, 0);
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        const IndexedGpu& gpu = node.gpus[i];
        ModelCapacity& model = tallies[gpu.model].capacity;
        const std::int64_t used = peak.gpu_milli[i];
        const bool is_free = used == 0 && gpu.is_placeable() && node.is_usable();
        ++model.total;
        model.booked += used > 0 ? 1 : 0;
        model.booked_milli += std::min(used, kWholeGpuMilli);
        if (gpu.is_placeable() && node.is_usable()) {
            ++model.healthy;
            model.free += is_free ? 1 : 0;
            model.free_milli += std::max<std::int64_t>(kWholeGpuMilli - used, 0);
        }
        free_here[gpu.model] += is_free ? 1 : 0;
    }
    for (const auto& [id, free] : free_here) {
        ModelCapacity& model = tallies[id].capacity;
        ++model.nodes;
        model.largest_hole = std::max(model.largest_hole, free);
    }
}

// What is said of a node as a whole stands under its model; a node of several models has none.
void tally_node(
    std::vector<ModelTally>& tallies,
    const IndexedNode& node,
    const NodeView& view,
    const CostTerms& terms
) {
    if (node.facts.model >= tallies.size() || !view.is_usable()) {
        return;
    }
    ModelTally& tally = tallies[node.facts.model];
    tally.stranded_milli += stranded(view.free_milli, view.cpu_milli, view.memory_mib, terms);
    if (view.is_untouched && view.whole == view.gpus) {
        ++tally.whole_nodes[node.facts.domain];
    }
}

ModelCapacity finish(const NodePool& pool, std::size_t model, ModelTally& tally) {
    ModelCapacity capacity = std::move(tally.capacity);
    capacity.gpu_model = pool.models().name(model);
    capacity.stranded = tally.stranded_milli / kWholeGpuMilli;
    for (const auto& [domain, nodes] : tally.whole_nodes) {
        capacity.domains.push_back({.fabric = std::nullopt, .whole_nodes_free = nodes});
        if (domain != kNoDomain) {
            capacity.domains.back().fabric = pool.domains().name(domain);
        }
    }
    std::sort(
        capacity.domains.begin(),
        capacity.domains.end(),
        [](const ModelCapacity::Domain& a, const ModelCapacity::Domain& b) {
            return a.fabric < b.fabric;
        }
    );
    return capacity;
}

}  // namespace

std::vector<ModelCapacity> summarize_pool(NodePool& pool, EpochMs from, EpochMs to) {
    std::vector<ModelTally> tallies(pool.models().size());
    const CostTerms& terms = pool.cost_terms();
    for (std::size_t place = 0; place < pool.size(); ++place) {
        const IndexedNode& node = pool.node(place);
        tally_gpus(tallies, node, from, to);
        tally_node(tallies, node, node.view(from, to, true), terms);
    }
    std::vector<ModelCapacity> models;
    for (std::size_t model = 0; model < tallies.size(); ++model) {
        if (tallies[model].capacity.total > 0) {
            models.push_back(finish(pool, model, tallies[model]));
        }
    }
    std::sort(models.begin(), models.end(), [](const ModelCapacity& a, const ModelCapacity& b) {
        return a.gpu_model < b.gpu_model;
    });
    return models;
}

}  // namespace compute::capacity
