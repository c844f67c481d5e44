#include "modules/capacity/node_row.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::capacity {
namespace {

#define NODE_COLUMNS                                                                          \
    "n.id, n.tenant_id, n.pool_id, n.name, n.labels, n.fabric, n.connection, "                \
    "n.connection_since, n.admin, n.admin_reason, n.drain_deadline_at, n.cpu_milli, "         \
    "n.memory_mib, n.expected_gpus, n.machine_id, n.boot_id, n.credential_hash, n.token_id, " \
    "n.epoch, n.connected_to, n.clock_skew_ms, n.inventory_hash, n.driver, n.abilities, "     \
    "n.version, n.created_at, n.updated_at, n.fence_ms, n.removing_at "
// What orders changes: on SQLite a counter, on PostgreSQL the transaction, which a reader compares
// with its snapshot.
#define NEXT_CHANGE_SQLITE "(select coalesce(max(changed_in), 0) + 1 from nodes)"
#define NEXT_CHANGE_POSTGRES "cast(cast(pg_current_xact_id() as text) as bigint)"

constexpr store::Sql kSelect(
    "select " NODE_COLUMNS
    "from nodes n where n.tenant_id = $1 and n.id = $2 and n.removed_at is "
    "null"
);
constexpr store::Sql kSelectToChange(
    "select " NODE_COLUMNS "from nodes n where n.id = $1 and n.removed_at is null",
    "select " NODE_COLUMNS "from nodes n where n.id = $1 and n.removed_at is null for update"
);
constexpr store::Sql kSelectByName(
    "select " NODE_COLUMNS
    "from nodes n where n.tenant_id = $1 and n.pool_id = $2 and n.name = $3 "
    "and n.removed_at is null",
    "select " NODE_COLUMNS
    "from nodes n where n.tenant_id = $1 and n.pool_id = $2 and n.name = $3 "
    "and n.removed_at is null for update"
);
// Degraded: a GPU that is not healthy, or fewer than there should be.
#define IS_DEGRADED                                                                           \
    "(case when n.expected_gpus > (select count(*) from node_gpus g where g.node_id = n.id) " \
    "or exists (select 1 from node_gpus g where g.node_id = n.id and g.health <> 'healthy') " \
    "then 1 else 0 end)"
constexpr store::Sql kSelectPage(
    "select " NODE_COLUMNS
    "from nodes n where n.tenant_id = $1 and n.removed_at is null "
    "and (cast($2 as text) is null or n.pool_id = $2) "
    "and (cast($3 as text) is null or n.connection = $3) "
    "and (cast($4 as text) is null or n.admin = $4) "
    "and (cast($5 as text) is null or exists (select 1 from node_gpus g where g.node_id = n.id and "
    "g.model = $5)) "
    "and (cast($6 as bigint) is null or " IS_DEGRADED
    " = $6) "
    "and (cast($7 as text) is null or n.name > $7 or (n.name = $7 and n.id > $8)) "
    "order by n.name, n.id limit $9"
);
constexpr store::Sql kCount(
    "select count(*) from nodes where tenant_id = $1 and pool_id = $2 and removed_at is null"
);

#define INSERT_NODE                                                                             \
    "insert into nodes (id, tenant_id, pool_id, name, labels, fabric, connection, "             \
    "connection_since, admin, admin_reason, drain_deadline_at, cpu_milli, memory_mib, "         \
    "expected_gpus, machine_id, boot_id, credential_hash, token_id, epoch, connected_to, "      \
    "clock_skew_ms, inventory_hash, driver, abilities, version, created_at, updated_at, "       \
    "fence_ms, removing_at, changed_in) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, " \
    "$12, $13, $14, $15, "                                                                      \
    "$16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, "
constexpr store::Sql kInsert(
    INSERT_NODE NEXT_CHANGE_SQLITE ") on conflict do nothing",
    INSERT_NODE NEXT_CHANGE_POSTGRES ") on conflict do nothing"
);
#define UPDATE_NODE                                                                    \
    "update nodes set pool_id = $4, labels = $5, fabric = $6, connection = $7, "       \
    "connection_since = $8, admin = $9, admin_reason = $10, drain_deadline_at = $11, " \
    "cpu_milli = $12, memory_mib = $13, expected_gpus = $14, boot_id = $15, "          \
    "credential_hash = $16, token_id = $17, epoch = $18, connected_to = $19, "         \
    "clock_skew_ms = $20, inventory_hash = $21, driver = $22, abilities = $23, "       \
    "updated_at = $24, fence_ms = $25, removing_at = $26, version = version + 1, changed_in = "
#define IF_VERSION " where tenant_id = $1 and id = $2 and version = $3 and removed_at is null"
constexpr store::Sql kUpdate(
    UPDATE_NODE NEXT_CHANGE_SQLITE IF_VERSION, UPDATE_NODE NEXT_CHANGE_POSTGRES IF_VERSION
);
#define REMOVE_NODE                                                                     \
    "update nodes set connection = 'removed', connection_since = $4, removed_at = $4, " \
    "updated_at = $4, epoch = epoch + 1, credential_hash = '', version = version + 1, " \
    "changed_in = "
constexpr store::Sql kRemove(
    REMOVE_NODE NEXT_CHANGE_SQLITE IF_VERSION, REMOVE_NODE NEXT_CHANGE_POSTGRES IF_VERSION
);
constexpr store::Sql kDeleteGpus("delete from node_gpus where tenant_id = $1 and node_id = $2");

#define MARK "update nodes set version = version + 1, changed_in = "
constexpr store::Sql kMark(
    MARK NEXT_CHANGE_SQLITE " where tenant_id = $1 and id = $2",
    MARK NEXT_CHANGE_POSTGRES " where tenant_id = $1 and id = $2"
);
constexpr store::Sql kCompareAndMark(
    MARK NEXT_CHANGE_SQLITE IF_VERSION, MARK NEXT_CHANGE_POSTGRES IF_VERSION
);

constexpr store::Sql kSelectGpus(
    "select uuid, gpu_index, model, memory_mib, pci_bus_id, numa, health, health_since, xid, "
    "present from node_gpus where tenant_id = $1 and node_id = $2 order by gpu_index, uuid"
);
#define SELECT_GPUS_OF_NODES                                                                   \
    "select uuid, gpu_index, model, memory_mib, pci_bus_id, numa, health, health_since, xid, " \
    "present, node_id from node_gpus where tenant_id = $1 and node_id "
constexpr store::Sql kSelectGpusOfNodes(
    SELECT_GPUS_OF_NODES "in (select value from json_each($2)) order by gpu_index, uuid",
    SELECT_GPUS_OF_NODES "= any(cast($2 as text[])) order by gpu_index, uuid"
);
constexpr store::Sql kInsertGpu(
    "insert into node_gpus (node_id, tenant_id, uuid, gpu_index, model, memory_mib, pci_bus_id, "
    "numa, health, health_since, xid, present) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
    "$11, $12) on conflict do nothing"
);
constexpr store::Sql kUpdateGpu(
    "update node_gpus set gpu_index = $4, health = $5, health_since = $6, xid = $7, present = $8 "
    "where tenant_id = $1 and node_id = $2 and uuid = $3"
);
constexpr store::Sql kDeleteGpu(
    "delete from node_gpus where tenant_id = $1 and node_id = $2 and uuid = $3"
);

Node read_node(const store::Row& row) {
    Node node;
    std::size_t at = 0;
    node.id = NodeId(row.get_text(at++));
    node.tenant_id = TenantId(row.get_text(at++));
    node.pool_id = PoolId(row.get_text(at++));
    node.name = row.get_text(at++);
    node.labels = Json::parse(row.get_text(at++)).get<std::map<std::string, std::string>>();
    node.fabric = row.find_text(at++);
    node.connection = row.get_text(at++);
    node.connection_since = row.get_int(at++);
    node.admin = row.get_text(at++);
    node.admin_reason = row.find_text(at++);
    node.drain_deadline_at = row.find_int(at++);
    node.cpu_milli = row.get_int(at++);
    node.memory_mib = row.get_int(at++);
    node.expected_gpus = row.get_int(at++);
    node.machine_id = row.get_text(at++);
    node.boot_id = row.get_text(at++);
    node.credential_hash = row.get_text(at++);
    node.token_id = row.find_text(at++);
    node.epoch = row.get_int(at++);
    node.connected_to = row.get_text(at++);
    node.clock_skew_ms = row.get_int(at++);
    node.inventory_hash = row.get_text(at++);
    node.driver = row.find_text(at++);
    node.abilities = row.get_text(at++);
    node.version = row.get_int(at++);
    node.created_at = row.get_int(at++);
    node.updated_at = row.get_int(at++);
    node.fence_ms = row.get_int(at++);
    node.removing_at = row.find_int(at++);
    return node;
}

std::optional<Node> read_found(const std::optional<store::Row>& row) {
    return row ? std::optional(read_node(*row)) : std::nullopt;
}

NodeGpu read_gpu(const store::Row& row) {
    std::size_t at = 0;
    NodeGpu gpu;
    gpu.uuid = row.get_text(at++);
    gpu.index = row.get_int(at++);
    gpu.model = row.get_text(at++);
    gpu.memory_mib = row.get_int(at++);
    gpu.pci_bus_id = row.get_text(at++);
    gpu.numa = row.find_int(at++);
    gpu.health = row.get_text(at++);
    gpu.health_since = row.get_int(at++);
    gpu.xid = row.find_int(at++);
    gpu.is_present = row.get_bool(at++);
    return gpu;
}

}  // namespace

std::optional<Node> find_node(store::Transaction& tx, const TenantId& tenant, const NodeId& id) {
    return read_found(tx.find_row(kSelect, {tenant, id}));
}

std::optional<Node> find_node_to_change(store::Transaction& tx, const NodeId& id) {
    return read_found(tx.find_row(kSelectToChange, {id}));
}

std::optional<Node> find_node_by_name(
    store::Transaction& tx, const TenantId& tenant, const PoolId& pool, const std::string& name
) {
    return read_found(tx.find_row(kSelectByName, {tenant, pool, name}));
}

Node get_node(store::Transaction& tx, const TenantId& tenant, const NodeId& id) {
    auto node = find_node(tx, tenant, id);
    if (!node) {
        throw not_found("nodeId: there is no such node");
    }
    return *std::move(node);
}

std::vector<Node> list_nodes(
    store::Transaction& tx, const TenantId& tenant, const NodeFilter& filter
) {
    std::vector<Node> nodes;
    for (const store::Row& row : tx.query(
             kSelectPage,
             {tenant,
              filter.pool_id,
              filter.connection,
              filter.admin,
              filter.gpu_model,
              filter.degraded ? std::optional<std::int64_t>(*filter.degraded ? 1 : 0)
                              : std::nullopt,
              filter.after_name,
              filter.after_id,
              filter.limit}
         )) {
        nodes.push_back(read_node(row));
    }
    return nodes;
}

std::int64_t count_nodes(store::Transaction& tx, const TenantId& tenant, const PoolId& pool) {
    return tx.get_row(kCount, {tenant, pool}).get_int(0);
}

bool insert_node(store::Transaction& tx, const Node& node) {
    return tx.execute(
               kInsert,
               {node.id,
                node.tenant_id,
                node.pool_id,
                node.name,
                dump_json(node.labels),
                node.fabric,
                node.connection,
                node.connection_since,
                node.admin,
                node.admin_reason,
                node.drain_deadline_at,
                node.cpu_milli,
                node.memory_mib,
                node.expected_gpus,
                node.machine_id,
                node.boot_id,
                node.credential_hash,
                node.token_id,
                node.epoch,
                node.connected_to,
                node.clock_skew_ms,
                node.inventory_hash,
                node.driver,
                node.abilities,
                node.version,
                node.created_at,
                node.updated_at,
                node.fence_ms,
                node.removing_at}
           ) > 0;
}

bool update_node(store::Transaction& tx, const Node& node) {
    return tx.execute(
               kUpdate,
               {node.tenant_id,
                node.id,
                node.version,
                node.pool_id,
                dump_json(node.labels),
                node.fabric,
                node.connection,
                node.connection_since,
                node.admin,
                node.admin_reason,
                node.drain_deadline_at,
                node.cpu_milli,
                node.memory_mib,
                node.expected_gpus,
                node.boot_id,
                node.credential_hash,
                node.token_id,
                node.epoch,
                node.connected_to,
                node.clock_skew_ms,
                node.inventory_hash,
                node.driver,
                node.abilities,
                node.updated_at,
                node.fence_ms,
                node.removing_at}
           ) > 0;
}

bool remove_node_row(store::Transaction& tx, const Node& node) {
    if (tx.execute(kRemove, {node.tenant_id, node.id, node.version, node.updated_at}) == 0) {
        return false;
    }
    tx.execute(kDeleteGpus, {node.tenant_id, node.id});
    return true;
}

void mark_node_changed(store::Transaction& tx, const TenantId& tenant, const NodeId& id) {
    tx.defer(kMark, {tenant, id});
}

bool compare_and_mark(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id, std::int64_t version
) {
    return tx.execute(kCompareAndMark, {tenant, id, version}) > 0;
}

std::vector<NodeGpu> gpus_of(store::Transaction& tx, const TenantId& tenant, const NodeId& id) {
    std::vector<NodeGpu> gpus;
    for (const store::Row& row : tx.query(kSelectGpus, {tenant, id})) {
        gpus.push_back(read_gpu(row));
    }
    return gpus;
}

std::map<NodeId, std::vector<NodeGpu>> gpus_of_nodes(
    store::Transaction& tx, const TenantId& tenant, const std::vector<Node>& nodes
) {
    store::TextList ids;
    for (const Node& node : nodes) {
        ids.emplace_back(node.id.str());
    }
    constexpr std::size_t kNodeColumn = 10;
    std::map<NodeId, std::vector<NodeGpu>> gpus;
    for (const store::Row& row : tx.query(kSelectGpusOfNodes, {tenant, std::move(ids)})) {
        gpus[NodeId(row.get_text(kNodeColumn))].push_back(read_gpu(row));
    }
    return gpus;
}

void insert_gpus(
    store::Transaction& tx,
    const TenantId& tenant,
    const NodeId& id,
    const std::vector<NodeGpu>& gpus
) {
    for (const NodeGpu& gpu : gpus) {
        const std::int64_t inserted = tx.execute(
            kInsertGpu,
            {id,
             tenant,
             gpu.uuid,
             gpu.index,
             gpu.model,
             gpu.memory_mib,
             gpu.pci_bus_id,
             gpu.numa,
             gpu.health,
             gpu.health_since,
             gpu.xid,
             gpu.is_present ? 1 : 0}
        );
        if (inserted == 0) {
            throw ComputeError(
                ErrorCode::Conflict,
                "inventory.gpus: GPU " + gpu.uuid + " is registered with another node",
                Json{{"reason", "gpu-taken"}, {"gpu", gpu.uuid}}
            );
        }
    }
}

void update_gpu(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id, const NodeGpu& gpu
) {
    tx.execute(
        kUpdateGpu,
        {tenant,
         id,
         gpu.uuid,
         gpu.index,
         gpu.health,
         gpu.health_since,
         gpu.xid,
         gpu.is_present ? 1 : 0}
    );
}

void delete_gpu(
    store::Transaction& tx, const TenantId& tenant, const NodeId& id, const std::string& uuid
) {
    tx.execute(kDeleteGpu, {tenant, id, uuid});
}

}  // namespace compute::capacity
