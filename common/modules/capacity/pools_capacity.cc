#include <nlohmann/json.hpp>

#include "modules/capacity/expected_nodes.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

constexpr EpochMs kDefaultWindowMs = 3'600'000;
constexpr EpochMs kMaxTimeMs = 253'402'300'799'999;  // the end of year 9999

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

Json handle(method::Context& context, CapacityInput& input) {
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
    }
    for (const auto& [fabric, totals] : by_fabric) {
        answer["fabrics"].push_back(totals.json());
        answer["fabrics"].back()["fabric"] = fabric;
    }
    return answer;
}

}  // namespace

method::MethodEntry pools_capacity() {
    method::Method<CapacityInput> capacity;
    capacity.action = "compute:pools:read";
    capacity.kind = method::Kind::Read;
    capacity.resource = [](const CapacityInput& input) {
        return method::Resource{kPoolType, input.pool_id.str(), std::nullopt};
    };
    capacity.input(capacity_manifest());
    capacity.handler = handle;
    return {
        "pools",
        "capacity",
        method::define_method(std::move(capacity)),
        method::MethodRow{
            .action = "compute:pools:read", .resource_type = kPoolType, .alternatives = {}}};
}

}  // namespace compute::capacity
