#include <nlohmann/json.hpp>

#include "modules/capacity/expected_nodes.h"
#include "modules/capacity/live_placement.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/placement_rows.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

constexpr EpochMs kDefaultWindowMs = 3'600'000;
constexpr EpochMs kMaxTimeMs = 253'402'300'799'999;  // the end of year 9999

constexpr store::Sql kNodesOfPool("select " NODE_CHANGE_COLUMNS
                                  " from nodes n where n.tenant_id = $1 and n.pool_id = $2 "
                                  "and n.removed_at is null order by n.id");

struct CapacityInput {
    TenantId tenant_id;
    PoolId pool_id;
    std::optional<EpochMs> from;
    std::optional<EpochMs> to;
};

schema::Manifest<CapacityInput> capacity_manifest() {
    schema::Manifest<CapacityInput> manifest;
    manifest.required("tenantId", &CapacityInput::tenant_id, schema::tenant_id())
        .required("poolId", &CapacityInput::pool_id, pool_id_shape())
        .optional(
            "from",
            &CapacityInput::from,
            schema::integer({.min = 0, .max = kMaxTimeMs}),
            "epoch ms; default now"
        )
        .optional(
            "to",
            &CapacityInput::to,
            schema::integer({.min = 0, .max = kMaxTimeMs}),
            "epoch ms; default one hour after from"
        )
        .rule([](const CapacityInput& input) {
            if (input.from && input.to && *input.to <= *input.from) {
                throw invalid_input("to: must be after from");
            }
        });
    return manifest;
}

struct Totals {
    std::int64_t nodes = 0;
    std::int64_t joined_nodes = 0;
    std::int64_t gpus = 0;
    std::int64_t joined_gpus = 0;

    void add(const NodeTally& tally) {
        nodes += tally.nodes;
        joined_nodes += tally.joined_nodes;
        gpus += tally.gpus;
        joined_gpus += tally.joined_gpus;
    }
    // Only nodes that joined can hold work; what is declared and not there is `expected`.
    [[nodiscard]] Json json() const {
        return {
            {"nodes", nodes},
            {"expectedNodes", nodes - joined_nodes},
            {"total", gpus},
            {"expected", gpus - joined_gpus},
            {"joined", joined_gpus}};
    }
};

// The index knows what is booked from now on; of the past the rows tell.
std::vector<ModelCapacity> summarize(
    method::Context& context, LivePlacement& placement, const Pool& pool, EpochMs from, EpochMs to
) {
    store::Transaction& tx = context.transaction();
    if (from >= context.now()) {
        placement.catch_up(tx, context.runtime->clock);
        return placement.with([&](PlacementIndex& index) {
            return index.summarize(pool.id.str(), from, to);
        });
    }
    std::vector<NodeState> states;
    for (const store::Row& row : tx.query(kNodesOfPool, {pool.tenant_id, pool.id})) {
        states.push_back(node_change_of(row).state);
    }
    read_gpus_and_bookings(tx, states, from);
    PlacementIndex past;
    for (const NodeState& state : states) {
        past.put_node(state);
    }
    return past.summarize(pool.id.str(), from, to);
}

void add_room(Json& json, const ModelCapacity& room) {
    json["healthy"] = room.healthy;
    json["booked"] = room.booked;
    json["bookedMilli"] = room.booked_milli;
    json["free"] = room.free;
    json["freeMilli"] = room.free_milli;
    json["largestHole"] = room.largest_hole;
    json["stranded"] = room.stranded;
    json["wholeNodesFree"] = Json::array();
    for (const ModelCapacity::Domain& domain : room.domains) {
        Json entry{{"nodes", domain.whole_nodes_free}};
        if (domain.fabric) {
            entry["fabric"] = *domain.fabric;
        }
        json["wholeNodesFree"].push_back(std::move(entry));
    }
}

Json handle(LivePlacement& placement, method::Context& context, CapacityInput& input) {
    store::Transaction& tx = context.transaction();
    const Pool pool = get_pool(tx, input.tenant_id, input.pool_id, Reach::OwnOrShared);
    const EpochMs from = input.from.value_or(context.now());
    const EpochMs to = input.to.value_or(from + kDefaultWindowMs);
    if (to <= from) {
        throw invalid_input("to: must be after from, which is now when it is absent");
    }
    std::map<std::string, Totals> by_model;
    std::map<std::string, Totals> by_fabric;
    Totals all;
    for (const NodeTally& tally : tally_nodes(tx, pool.tenant_id, pool.id)) {
        by_model[tally.gpu_model].add(tally);
        if (tally.fabric) {
            by_fabric[*tally.fabric].add(tally);
        }
        all.add(tally);
    }
    std::map<std::string, ModelCapacity> rooms;
    for (ModelCapacity& room : summarize(context, placement, pool, from, to)) {
        if (!by_model.contains(room.gpu_model)) {
            // Joined without having been declared: the pool has no groups.
            const NodeTally tally{
                .gpu_model = room.gpu_model,
                .fabric = std::nullopt,
                .nodes = room.nodes,
                .joined_nodes = room.nodes,
                .gpus = room.total,
                .joined_gpus = room.total};
            by_model[room.gpu_model].add(tally);
            all.add(tally);
        }
        rooms[room.gpu_model] = std::move(room);
    }
    Json answer{
        {"poolId", pool.id.str()},
        {"from", from},
        {"to", to},
        {"gpus", all.json()},
        {"models", Json::array()},
        {"fabrics", Json::array()}};
    for (const auto& [model, totals] : by_model) {
        answer["models"].push_back(totals.json());
        answer["models"].back()["gpuModel"] = model;
        add_room(answer["models"].back(), rooms[model]);
    }
    for (const auto& [fabric, totals] : by_fabric) {
        answer["fabrics"].push_back(totals.json());
        answer["fabrics"].back()["fabric"] = fabric;
    }
    return answer;
}

}  // namespace

method::MethodEntry pools_capacity(const SharedPlacement& placement) {
    method::Method<CapacityInput> capacity;
    capacity.action = "compute:pools:read";
    capacity.kind = method::Kind::Read;
    capacity.resource = [](const CapacityInput& input) {
        return method::Resource{kPoolType, input.pool_id.str(), std::nullopt};
    };
    capacity.input(capacity_manifest());
    capacity.handler = [placement](method::Context& context, CapacityInput& input) {
        return handle(*placement, context, input);
    };
    return {
        "pools",
        "capacity",
        method::define_method(std::move(capacity)),
        method::MethodRow{
            .action = "compute:pools:read", .resource_type = kPoolType, .alternatives = {}}};
}

}  // namespace compute::capacity
