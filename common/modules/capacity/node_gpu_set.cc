#include "modules/capacity/node_gpu_set.h"

#include <algorithm>

namespace compute::capacity {
namespace {

NodeGpu made_from(
    const agent_protocol::Gpu& found, const std::optional<DeclaredShape>& declared, EpochMs now
) {
    NodeGpu gpu;
    gpu.uuid = found.uuid;
    gpu.index = found.index;
    gpu.model = declared ? declared->gpu_model : found.model;
    gpu.memory_mib = found.memory_mib;
    gpu.pci_bus_id = found.pci_bus_id;
    gpu.numa = found.numa;
    gpu.health_since = now;
    return gpu;
}

}  // namespace

std::vector<NodeGpu> first_inventory(
    const std::optional<DeclaredShape>& declared,
    const agent_protocol::Inventory& inventory,
    EpochMs now
) {
    std::vector<NodeGpu> gpus;
    for (const agent_protocol::Gpu& found : inventory.gpus) {
        gpus.push_back(made_from(found, declared, now));
    }
    return gpus;
}

std::vector<NodeGpu> take_inventory(
    store::Transaction& tx,
    Node& node,
    const std::optional<DeclaredShape>& declared,
    const agent_protocol::Inventory& inventory,
    EpochMs now
) {
    std::vector<NodeGpu> gpus = gpus_of(tx, node.tenant_id, node.id);
    const auto room = static_cast<std::size_t>(
        declared ? declared->gpu_count : static_cast<std::int64_t>(agent_protocol::kMaxGpus)
    );
    for (const agent_protocol::Gpu& found : inventory.gpus) {
        const auto known = std::find_if(gpus.begin(), gpus.end(), [&](const NodeGpu& gpu) {
            return gpu.uuid == found.uuid;
        });
        if (known == gpus.end()) {
            if (gpus.size() < room) {
                gpus.push_back(made_from(found, declared, now));
                insert_gpus(tx, node.tenant_id, node.id, {gpus.back()});
            }
            continue;
        }
        if (known->index != found.index || !known->is_present) {
            known->index = found.index;
            known->is_present = true;
            update_gpu(tx, node.tenant_id, node.id, *known);
        }
    }
    node.expected_gpus = std::max(node.expected_gpus, static_cast<std::int64_t>(gpus.size()));
    return gpus;
}

}  // namespace compute::capacity
