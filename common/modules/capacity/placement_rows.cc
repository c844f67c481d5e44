#include "modules/capacity/placement_rows.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace compute::capacity {
namespace {

constexpr store::Sql kSelectGpus(
    "select node_id, uuid, model, health from node_gpus "
    "where node_id in (select value from json_each($1)) order by node_id, gpu_index, uuid",
    "select node_id, uuid, model, health from node_gpus "
    "where node_id = any (cast($1 as text[])) order by node_id, gpu_index, uuid"
);
// By node, so that a node's GPUs are looked up once.
constexpr store::Sql kSelectBookings(
    "select node_id, gpu_uuid, milli, cpu_milli, memory_mib, starts_at, ends_at from bookings "
    "where node_id in (select value from json_each($1)) and ends_at > $2 and parent_id is null "
    "order by node_id",
    "select node_id, gpu_uuid, milli, cpu_milli, memory_mib, starts_at, ends_at from bookings "
    "where node_id = any (cast($1 as text[])) and ends_at > $2 and parent_id is null "
    "order by node_id"
);

GpuHealth health_of(const std::string& name) {
    if (name == "healthy") {
        return GpuHealth::Healthy;
    }
    if (name == "degraded") {
        return GpuHealth::Degraded;
    }
    return name == "missing" ? GpuHealth::Missing : GpuHealth::Failed;
}

int find_gpu(const NodeState& state, const std::string& uuid) {
    const auto gpu = std::find_if(state.gpus.begin(), state.gpus.end(), [&](const GpuState& other) {
        return other.uuid == uuid;
    });
    return gpu == state.gpus.end() ? -1 : static_cast<int>(gpu - state.gpus.begin());
}

class StatesById {
public:
    explicit StatesById(std::vector<NodeState>& states) {
        for (NodeState& state : states) {
            states_.emplace(state.id, &state);
        }
    }
    NodeState& at(const std::string& id) {
        if (last_ == nullptr || last_->id != id) {
            last_ = states_.at(id);
        }
        return *last_;
    }

private:
    std::unordered_map<std::string, NodeState*> states_;
    NodeState* last_ = nullptr;
};

}  // namespace

NodeChange node_change_of(const store::Row& row) {
    NodeChange change;
    const std::string& connection = row.get_text(3);
    change.state.id = row.get_text(0);
    change.state.pool_id = row.get_text(1);
    change.state.fabric = row.find_text(2);
    change.state.is_ready = connection == "ready";
    change.state.is_enabled = row.get_text(4) == "enabled";
    change.state.cpu_milli = row.get_int(5);
    change.state.memory_mib = row.get_int(6);
    change.state.version = row.get_int(7);
    change.is_removed = connection == "removed";
    change.changed_in = row.get_int(8);
    return change;
}

void read_gpus_and_bookings(store::Transaction& tx, std::vector<NodeState>& states, EpochMs after) {
    store::TextList ids;
    for (const NodeState& state : states) {
        ids.emplace_back(state.id);
    }
    StatesById by_id(states);
    for (const store::Row& row : tx.query(kSelectGpus, {ids})) {
        by_id.at(row.get_text(0))
            .gpus.push_back(
                {.uuid = row.get_text(1),
                 .model = row.get_text(2),
                 .health = health_of(row.get_text(3))}
            );
    }
    for (const store::Row& row : tx.query(kSelectBookings, {std::move(ids), after})) {
        NodeState& state = by_id.at(row.get_text(0));
        state.bookings.push_back(
            {.starts_at = row.get_int(5),
             .ends_at = row.get_int(6),
             .gpu = row.is_null(1) ? -1 : find_gpu(state, row.get_text(1)),
             .milli = row.get_int(2),
             .cpu_milli = row.get_int(3),
             .memory_mib = row.get_int(4)}
        );
    }
}

}  // namespace compute::capacity
