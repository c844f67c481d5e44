// Whether a machine is the one that a pool's node group declares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_protocol/inventory.h"
#include "modules/capacity/pool.h"

namespace compute::capacity {

struct DeclaredShape {
    std::string gpu_model;
    std::int64_t gpu_count = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::optional<std::string> fabric;
    std::int64_t group_index = 0;
};

// nullopt: the pool does not declare this name.
[[nodiscard]] std::optional<DeclaredShape> find_declared(
    store::Transaction& tx, const TenantId& tenant, const PoolId& pool, const std::string& name
);
[[nodiscard]] bool has_declared(store::Transaction& tx, const TenantId& tenant, const PoolId& pool);
void set_joined(
    store::Transaction& tx,
    const TenantId& tenant,
    const PoolId& pool,
    const std::string& name,
    const std::string& node_id
);
void forget_joined(store::Transaction& tx, const TenantId& tenant, const std::string& node_id);

// Fewer: a node that joined may have lost GPUs since, which is no other machine.
enum class GpuCount { Exact, FewerToo };
// One line for each difference: "gpuCount: declared 8, found 7". Memory agrees within a tenth, as
// the kernel keeps a part of it; a model agrees when its words stand in the name the driver gives
// ("H100" in "NVIDIA H100 80GB HBM3").
[[nodiscard]] std::vector<std::string> differences(
    const DeclaredShape& declared, const agent_protocol::Inventory& found, GpuCount count
);

[[nodiscard]] bool is_model(const std::string& declared, const std::string& found);

}  // namespace compute::capacity
