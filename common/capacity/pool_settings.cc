#include "capacity/pool_settings.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

#include "capacity/name_list.h"

namespace compute::capacity {
namespace {

// The agent fences itself 20 s before a node may be called lost, and needs as long to notice the
// silence.
constexpr std::int64_t kLostMarginSeconds = 40;
constexpr std::array<std::int64_t, 4> kFractionSteps{50, 100, 250, 500};
constexpr std::size_t kMaxNodesPerPool = 32'768;

std::string group_field(std::size_t index) {
    return "nodeGroups[" + std::to_string(index) + "].names";
}

}  // namespace

bool NodeGroup::is_same(const NodeGroup& other) const {
    return std::tie(names, gpu_model, gpu_count, cpu_milli, memory_mib, fabric, labels) ==
           std::tie(
               other.names,
               other.gpu_model,
               other.gpu_count,
               other.cpu_milli,
               other.memory_mib,
               other.fabric,
               other.labels
           );
}

NodeGroup NodeGroup::decode(const Json& value) {
    NodeGroup group;
    group.names = value.at("names").get<std::string>();
    group.gpu_model = value.at("gpuModel").get<std::string>();
    group.gpu_count = value.at("gpuCount").get<std::int64_t>();
    group.cpu_milli = value.at("cpuMilli").get<std::int64_t>();
    group.memory_mib = value.at("memoryMib").get<std::int64_t>();
    if (const auto fabric = value.find("fabric"); fabric != value.end()) {
        group.fabric = fabric->get<std::string>();
    }
    if (const auto labels = value.find("labels"); labels != value.end()) {
        group.labels = labels->get<std::map<std::string, std::string>>();
    }
    return group;
}

void check_node_groups(std::vector<NodeGroup>& groups) {
    std::map<std::string_view, std::size_t> seen;  // views into `expanded`
    for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i].expanded = expand_names(groups[i].names, group_field(i));
        for (const std::string& name : groups[i].expanded) {
            const auto [at, is_new] = seen.try_emplace(name, i);
            if (!is_new) {
                throw invalid_input(
                    group_field(i) + ": node " + name + " is already in nodeGroups[" +
                    std::to_string(at->second) + "]"
                );
            }
        }
        if (seen.size() > kMaxNodesPerPool) {
            throw invalid_input(
                "nodeGroups: must declare at most " + std::to_string(kMaxNodesPerPool) + " nodes"
            );
        }
        groups[i].names = canonical_names(groups[i].names, group_field(i));
    }
}

void check_shares(std::vector<std::string>& tenants, const TenantId& owner) {
    std::sort(tenants.begin(), tenants.end());
    if (tenants.size() > 1 &&
        std::find(tenants.begin(), tenants.end(), kEveryTenant) != tenants.end()) {
        throw invalid_input("sharedWith: \"*\" must stand alone");
    }
    if (std::find(tenants.begin(), tenants.end(), owner.str()) != tenants.end()) {
        throw invalid_input("sharedWith: must not name the pool's own tenant");
    }
}

void check_limits(const PoolSettings& settings) {
    const std::int64_t least = settings.disconnected_after_seconds + kLostMarginSeconds;
    if (settings.lost_after_seconds < least) {
        throw invalid_input(
            "lostAfterSeconds: must be at least disconnectedAfterSeconds + " +
            std::to_string(kLostMarginSeconds) + " (" + std::to_string(least) + ")"
        );
    }
    if (std::find(kFractionSteps.begin(), kFractionSteps.end(), settings.fraction_step_milli) ==
        kFractionSteps.end()) {
        throw invalid_input("fractionStepMilli: must be 50, 100, 250 or 500");
    }
}

Json node_groups_json(const std::vector<NodeGroup>& groups) {
    Json list = Json::array();
    for (const NodeGroup& group : groups) {
        Json item{
            {"names", group.names},
            {"gpuModel", group.gpu_model},
            {"gpuCount", group.gpu_count},
            {"cpuMilli", group.cpu_milli},
            {"memoryMib", group.memory_mib}};
        if (group.fabric) {
            item["fabric"] = *group.fabric;
        }
        if (!group.labels.empty()) {
            item["labels"] = group.labels;
        }
        list.push_back(std::move(item));
    }
    return list;
}

}  // namespace compute::capacity
