// A node: a machine with an agent, in exactly one pool, of the pool's owner.
//
// Two independent fields say what it may do: `connection` (what we hear from its agent) and `admin`
// (what an operator wants). Its GPUs are the expected set: a card that is gone stays, as missing,
// until an operator gives it up.
//
// `version` rises with everything that changes what may be placed on the node: the row, its GPUs,
// its bookings. Whoever writes one of these calls mark_node_changed() or compare_and_mark() in the
// same transaction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/ids.h"
#include "modules/capacity/pool.h"
#include "store/database.h"

namespace compute::capacity {

using NodeId = StrongId<struct NodeTag>;

inline constexpr const char* kNodeType = "node";
inline constexpr const char* kNodePrefix = "node_";

struct NodeGpu {
    std::string uuid;
    std::int64_t index = 0;
    std::string model;
    std::int64_t memory_mib = 0;
    std::string pci_bus_id;
    std::optional<std::int64_t> numa;
    std::string health = "healthy";  // healthy | missing | failed | degraded
    EpochMs health_since = 0;
    std::optional<std::int64_t> xid;  // what made it missing, failed or degraded
    bool is_present = true;           // in the inventory that was written last
};

struct Node {
    NodeId id;
    TenantId tenant_id;
    PoolId pool_id;
    std::string name;
    std::map<std::string, std::string> labels;
    std::optional<std::string> fabric;
    std::string connection = "ready";  // ready | disconnected | lost | removed
    EpochMs connection_since = 0;
    std::string admin = "enabled";  // enabled | cordoned | draining | drained
    std::optional<std::string> admin_reason;
    std::optional<EpochMs> drain_deadline_at;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t expected_gpus = 0;
    std::string machine_id;
    std::string boot_id;
    std::string credential_hash;
    std::optional<std::string> token_id;
    std::int64_t epoch = 1;
    std::string connected_to;
    std::int64_t fence_ms = 0;           // told to the agent at its last hello
    std::optional<EpochMs> removing_at;  // a forced removal waits for the fence
    std::int64_t clock_skew_ms = 0;
    std::string inventory_hash;
    std::optional<std::string> driver;
    std::string abilities = "{}";  // JSON
    std::int64_t version = 1;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;
};

// Removed nodes are found by none of these.
[[nodiscard]] std::optional<Node> find_node(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id
);
// The same by id alone, for an agent that says who it is and has yet to prove it; on PostgreSQL the
// row stays locked until the commit.
[[nodiscard]] std::optional<Node> find_node_to_change(store::Transaction& tx, const NodeId& id);
[[nodiscard]] std::optional<Node> find_node_by_name(
    store::Transaction& tx, const TenantId& tenant, const PoolId& pool, const std::string& name
);
// NOT_FOUND in the same words for a node that was removed, is another tenant's or never was.
[[nodiscard]] Node get_node(store::Transaction& tx, const TenantId& tenant, const NodeId& id);

struct NodeFilter {
    std::optional<std::string> pool_id;
    std::optional<std::string> connection;
    std::optional<std::string> admin;
    std::optional<std::string> gpu_model;
    std::optional<bool> degraded;
    std::optional<std::string> after_name;
    std::optional<std::string> after_id;
    std::int64_t limit = 50;
};
[[nodiscard]] std::vector<Node> list_nodes(
    store::Transaction& tx, const TenantId& tenant, const NodeFilter& filter
);
[[nodiscard]] std::int64_t count_nodes(
    store::Transaction& tx, const TenantId& tenant, const PoolId& pool
);

// False when the name is taken in the pool; then nothing was written.
[[nodiscard]] bool insert_node(store::Transaction& tx, const Node& node);
// Writes every field but id, tenant and name, and version + 1, if the stored version still is
// `node.version`; false otherwise.
[[nodiscard]] bool update_node(store::Transaction& tx, const Node& node);
// Ends the row: connection removed, the name free, the GPUs gone. Under the same condition.
[[nodiscard]] bool remove_node_row(store::Transaction& tx, const Node& node);

// version + 1, whatever it was.
void mark_node_changed(store::Transaction& tx, const TenantId& tenant, const NodeId& id);
// version + 1 if it still is `version`; false when another change came first (choose again).
[[nodiscard]] bool compare_and_mark(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id, std::int64_t version
);

// By index.
[[nodiscard]] std::vector<NodeGpu> gpus_of(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id
);
// Of many nodes of one tenant, in one statement; nodes without GPUs are not in it.
[[nodiscard]] std::map<NodeId, std::vector<NodeGpu>> gpus_of_nodes(
    store::Transaction& tx, const TenantId& tenant, const std::vector<Node>& nodes
);
// CONFLICT when a card is registered with another node.
void insert_gpus(
    store::Transaction& tx,
    const TenantId& tenant,
    const NodeId& id,
    const std::vector<NodeGpu>& gpus
);
// Writes index, health, since, xid and presence.
void update_gpu(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id, const NodeGpu& gpu
);
void delete_gpu(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id, const std::string& uuid
);

}  // namespace compute::capacity
