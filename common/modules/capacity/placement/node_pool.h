// The nodes of one pool, in the order of their ids, with the views that decisions read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "modules/capacity/placement/demand.h"
#include "modules/capacity/placement/node.h"

namespace compute::capacity {

// Names in the order they came; ids are never given to another name.
class NameTable {
public:
    std::size_t intern(const std::string& name);
    [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
    [[nodiscard]] const std::string& name(std::size_t id) const { return names_[id]; }
    [[nodiscard]] std::size_t size() const { return names_.size(); }

private:
    std::vector<std::string> names_;
    std::map<std::string, std::size_t> ids_;
};

// What the cost of a node is computed from, beside its view.
struct CostTerms {
    // GPU milli that one milli of CPU, one MiB of memory serves at the mean demand, times 2^20.
    std::int64_t milli_per_cpu = 0;
    std::int64_t milli_per_memory = 0;
    std::vector<std::int64_t> pressure;  // by model, for each GPU milli, times 2^8
    std::int64_t mixed_pressure = 0;     // of nodes with several models: the highest
};

class NodePool {
public:
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] const IndexedNode& node(std::size_t place) const { return nodes_[place]; }
    [[nodiscard]] std::optional<std::size_t> find(const std::string& node_id) const;
    [[nodiscard]] const NameTable& models() const { return models_; }
    [[nodiscard]] const NameTable& domains() const { return domains_; }

    // The node with what is booked on it by `state` alone. Returns its place.
    std::size_t put(const NodeState& state);
    void remove(std::size_t place);
    // For changes of a node; its views are forgotten.
    IndexedNode& change(std::size_t place);
    // After a change of the node's holds.
    void note_holds(std::size_t place);

    [[nodiscard]] const NodeFacts& facts(std::size_t place) const { return facts_[place]; }

    // A window that decisions look at, with the views that are kept for its kind.
    struct Window {
        EpochMs from = 0;
        EpochMs to = 0;
        bool is_later = false;
        bool needs_host = false;  // CPU and memory also of nodes without a free GPU
    };
    [[nodiscard]] static Window window(EpochMs from, EpochMs to, EpochMs now, bool needs_host) {
        return {from, to, from > now + kNearMs, needs_host};
    }
    // What is free of the node in the window. The reference is good until the next call of any
    // method that is not const.
    const NodeView& view(std::size_t place, const Window& window) {
        NodeView& known = views_[window.is_later ? 1 : 0][place];
        if (!knows(known, window)) {
            known = nodes_[place].view(window.from, window.to, window.needs_host);
        }
        return known;
    }
    // Begins to read what view() of a node further on will want.
    void prefetch(std::size_t place, const Window& window) const {
        if (place < nodes_.size() && !knows(views_[window.is_later ? 1 : 0][place], window)) {
            nodes_[place].use.prefetch(window.from);
        }
    }

    // The CPU and memory that stand with so many GPU milli, on average.
    [[nodiscard]] HostAmount mean_with(std::int64_t gpu_milli) const;
    void note_demand(const DemandWindow::Ask& ask, EpochMs at);
    [[nodiscard]] const CostTerms& cost_terms();

private:
    // Windows that begin about now, and those that begin later, keep views of their own, so that
    // the two kinds of request do not push each other's out.
    static constexpr EpochMs kNearMs = 300'000;

    static bool knows(const NodeView& view, const Window& window) {
        return view.reach.covers(window.from, window.to) &&
               !(view.is_full && window.needs_host);
    }
    void fill(IndexedNode& node, const NodeState& state);
    void count_gpus(const IndexedNode& node, std::int64_t sign);

    std::vector<IndexedNode> nodes_;
    std::vector<NodeFacts> facts_;
    std::array<std::vector<NodeView>, 2> views_;
    NameTable models_;
    NameTable domains_;
    std::vector<std::int64_t> gpus_by_model_;
    std::int64_t gpus_ = 0;
    std::int64_t cpu_milli_ = 0;  // of nodes with GPUs
    std::int64_t memory_mib_ = 0;
    DemandWindow demand_;
    CostTerms terms_;
    bool has_terms_ = false;
};

}  // namespace compute::capacity
