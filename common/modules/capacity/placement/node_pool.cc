#include "modules/capacity/placement/node_pool.h"

#include <algorithm>
#include <utility>

namespace compute::capacity {
namespace {

constexpr int kServeShift = 20;
constexpr int kPressureShift = 8;

// With nothing asked for yet, the mean demand is what the fleet itself has; real demand outweighs
// that as soon as it is this part of the fleet.
constexpr std::int64_t kPriorPart = 50;

std::int64_t milli_served(std::int64_t gpu_milli, std::int64_t amount) {
    return amount > 0 ? (gpu_milli << kServeShift) / amount : 0;
}

}  // namespace

std::size_t NameTable::intern(const std::string& name) {
    const auto [entry, is_new] = ids_.try_emplace(name, names_.size());
    if (is_new) {
        names_.push_back(name);
    }
    return entry->second;
}

std::optional<std::size_t> NameTable::find(const std::string& name) const {
    const auto entry = ids_.find(name);
    return entry == ids_.end() ? std::nullopt : std::optional(entry->second);
}

std::optional<std::size_t> NodePool::find(const std::string& node_id) const {
    const auto node = std::lower_bound(
        nodes_.begin(),
        nodes_.end(),
        node_id,
        [](const IndexedNode& other, const std::string& id) { return other.id < id; }
    );
    if (node == nodes_.end() || node->id != node_id) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(node - nodes_.begin());
}

void NodePool::count_gpus(const IndexedNode& node, std::int64_t sign) {
    gpus_by_model_.resize(models_.size());
    for (const IndexedGpu& gpu : node.gpus) {
        gpus_by_model_[gpu.model] += sign;
    }
    if (!node.gpus.empty()) {
        gpus_ += sign * static_cast<std::int64_t>(node.gpus.size());
        cpu_milli_ += sign * node.cpu_milli;
        memory_mib_ += sign * node.memory_mib;
    }
    has_terms_ = false;
}

void NodePool::fill(IndexedNode& node, const NodeState& state) {
    node.id = state.id;
    node.facts = {
        .domain = state.fabric ? static_cast<DomainId>(domains_.intern(*state.fabric)) : kNoDomain,
        .model = kNoGpus,
        .is_ready = state.is_ready,
        .is_enabled = state.is_enabled};
    node.cpu_milli = state.cpu_milli;
    node.memory_mib = state.memory_mib;
    node.version = state.version;
    std::vector<IndexedGpu> gpus;
    gpus.reserve(state.gpus.size());
    for (const GpuState& gpu : state.gpus) {
        const auto model = static_cast<ModelId>(models_.intern(gpu.model));
        const bool is_same = gpus.empty() || node.facts.model == model;
        node.facts.model = is_same ? model : kMixedModels;
        gpus.push_back({.uuid = gpu.uuid, .model = model, .health = gpu.health});
    }
    node.put_gpus(std::move(gpus));
    for (const BookedWindow& booking : state.bookings) {
        node.use.add(
            booking.starts_at,
            booking.ends_at,
            booking.gpu,
            booking.milli,
            {.cpu_milli = booking.cpu_milli, .memory_mib = booking.memory_mib}
        );
    }
    node.use.shrink();
}

std::size_t NodePool::put(const NodeState& state) {
    std::optional<std::size_t> place = find(state.id);
    if (!place) {
        // Ids rise with time, so this is nearly always the end.
        const auto next = std::lower_bound(
            nodes_.begin(),
            nodes_.end(),
            state.id,
            [](const IndexedNode& other, const std::string& id) { return other.id < id; }
        );
        const auto offset = next - nodes_.begin();
        nodes_.insert(next, IndexedNode{});
        facts_.insert(facts_.begin() + offset, NodeFacts{});
        for (std::vector<NodeView>& views : views_) {
            views.insert(views.begin() + offset, NodeView{});
        }
        place = static_cast<std::size_t>(offset);
    } else {
        count_gpus(nodes_[*place], -1);
    }
    IndexedNode& node = change(*place);
    fill(node, state);
    facts_[*place] = node.facts;
    count_gpus(node, 1);
    return *place;
}

void NodePool::remove(std::size_t place) {
    count_gpus(nodes_[place], -1);
    const auto offset = static_cast<std::ptrdiff_t>(place);
    nodes_.erase(nodes_.begin() + offset);
    facts_.erase(facts_.begin() + offset);
    for (std::vector<NodeView>& views : views_) {
        views.erase(views.begin() + offset);
    }
}

IndexedNode& NodePool::change(std::size_t place) {
    for (std::vector<NodeView>& views : views_) {
        views[place] = NodeView{};
    }
    return nodes_[place];
}

void NodePool::note_holds(std::size_t place) {
    facts_[place].is_claimed = !nodes_[place].holds.empty();
}

HostAmount NodePool::mean_with(std::int64_t gpu_milli) const {
    if (gpus_ == 0) {
        return {};
    }
    return {
        .cpu_milli = cpu_milli_ / gpus_ * gpu_milli / kWholeGpuMilli,
        .memory_mib = memory_mib_ / gpus_ * gpu_milli / kWholeGpuMilli};
}

void NodePool::note_demand(const DemandWindow::Ask& ask, EpochMs at) {
    demand_.note(ask, at);
    has_terms_ = false;
}

const CostTerms& NodePool::cost_terms() {
    if (has_terms_) {
        return terms_;
    }
    has_terms_ = true;
    const std::int64_t prior = gpus_ * kWholeGpuMilli / kPriorPart;
    const std::int64_t total = demand_.total_milli() + prior;
    terms_.milli_per_cpu = milli_served(total, demand_.cpu_milli() + cpu_milli_ / kPriorPart);
    terms_.milli_per_memory = milli_served(total, demand_.memory_mib() + memory_mib_ / kPriorPart);
    terms_.pressure.assign(models_.size(), 0);
    terms_.mixed_pressure = 0;
    for (std::size_t model = 0; model < models_.size() && total > 0; ++model) {
        const std::int64_t gpus = gpus_by_model_[model];
        if (gpus > 0) {
            // The share of demand over the share of the fleet.
            terms_.pressure[model] =
                (demand_.named_milli(model) << kPressureShift) / gpus * gpus_ / total;
        }
        terms_.mixed_pressure = std::max(terms_.mixed_pressure, terms_.pressure[model]);
    }
    return terms_;
}

}  // namespace compute::capacity
