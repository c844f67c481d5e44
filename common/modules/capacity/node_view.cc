#include "modules/capacity/node_view.h"

#include <algorithm>
#include <functional>
#include <set>

#include <nlohmann/json.hpp>

#include "modules/capacity/reservation_changes.h"

namespace compute::capacity {
namespace {

template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
    if (value) {
        json[name] = *value;
    }
}

Json gpu_json(const NodeGpu& gpu) {
    Json json{
        {"uuid", gpu.uuid},
        {"index", gpu.index},
        {"model", gpu.model},
        {"memoryMib", gpu.memory_mib},
        {"pciBusId", gpu.pci_bus_id},
        {"health", gpu.health},
        {"healthSince", gpu.health_since},
        {"present", gpu.is_present}};
    put(json, "numa", gpu.numa);
    put(json, "xid", gpu.xid);
    return json;
}

Json ids_of(const std::vector<Holder>& holders) {
    Json ids = Json::array();
    for (const Holder& holder : holders) {
        ids.push_back(holder.id);
    }
    return ids;
}

std::vector<Holder> holders_of(const TenantId& tenant, const std::vector<Holder>& holders) {
    std::vector<Holder> own;
    std::copy_if(
        holders.begin(),
        holders.end(),
        std::back_inserter(own),
        [&](const Holder& holder) { return holder.tenant_id == tenant; }
    );
    return own;
}

Json affected_json(const std::vector<Holder>& holders) {
    const auto count = [&](std::string_view type) {
        return std::count_if(holders.begin(), holders.end(), [&](const Holder& holder) {
            return holder.type == type;
        });
    };
    return {
        {"reservations", count("reservation")},
        {"instances", count("instance")},
        {"sandboxes", count("sandbox")}};
}

using DataOf = std::function<Json(const std::vector<Holder>&)>;

// `data_of` makes the data from the holders that the receiving tenant may know of.
void publish_to_all(
    const method::Context& context,
    store::Transaction& tx,
    const Node& node,
    const std::string& type,
    const std::vector<Holder>& holders,
    const DataOf& data_of
) {
    const auto publish = [&](const TenantId& tenant, Json data) {
        data["tenantId"] = tenant.str();
        context.publish(
            tx,
            {.type = type,
             .tenant_id = tenant,
             .subject = std::string(kNodeType) + "/" + node.id.str(),
             .data = std::make_shared<const Json>(std::move(data))}
        );
    };
    wake_after_commit(context, tx, kPlacerChannel);  // what changes a node may make room
    publish(node.tenant_id, data_of(holders));
    std::set<TenantId> others;
    for (const Holder& holder : holders) {
        if (holder.tenant_id != node.tenant_id) {
            others.insert(holder.tenant_id);
        }
    }
    for (const TenantId& tenant : others) {
        publish(tenant, data_of(holders_of(tenant, holders)));
    }
}

}  // namespace

Json node_json(const Node& node, const std::vector<NodeGpu>& gpus) {
    Json list = Json::array();
    std::int64_t healthy = 0;
    for (const NodeGpu& gpu : gpus) {
        healthy += gpu.health == "healthy" ? 1 : 0;
        list.push_back(gpu_json(gpu));
    }
    Json json{
        {"id", node.id.str()},
        {"tenantId", node.tenant_id.str()},
        {"poolId", node.pool_id.str()},
        {"name", node.name},
        {"labels", node.labels},
        {"connection", node.connection},
        {"connectionSince", node.connection_since},
        {"admin", node.admin},
        {"cpuMilli", node.cpu_milli},
        {"memoryMib", node.memory_mib},
        {"expectedGpus", node.expected_gpus},
        {"degraded",
         healthy < node.expected_gpus || healthy < static_cast<std::int64_t>(gpus.size())},
        {"gpus", std::move(list)},
        {"machineId", node.machine_id},
        {"bootId", node.boot_id},
        {"epoch", node.epoch},
        {"clockSkewMs", node.clock_skew_ms},
        {"can", Json::parse(node.abilities)},
        {"version", node.version},
        {"createdAt", node.created_at},
        {"updatedAt", node.updated_at}};
    put(json, "fabric", node.fabric);
    put(json, "adminReason", node.admin_reason);
    put(json, "drainDeadlineAt", node.drain_deadline_at);
    put(json, "driver", node.driver);
    put(json, "removingAt", node.removing_at);
    return json;
}

Json node_detail_json(
    store::Transaction& tx, const Node& node, const std::vector<NodeGpu>& gpus, EpochMs now
) {
    Json json = node_json(node, gpus);
    json["holders"] = ids_of(holders_on(tx, node.id, now));
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        json["gpus"][i]["holders"] = ids_of(holders_on(tx, node.id, now, gpus[i].uuid));
    }
    return json;
}

void project_node(const method::Context& context, store::Transaction& tx, const Node& node) {
    Json labels = Json::array();
    for (const auto& [key, value] : node.labels) {
        labels.push_back(key + "=" + value);
    }
    Json attributes{
        {"name", node.name}, {"poolId", node.pool_id.str()}, {"labels", std::move(labels)}};
    put(attributes, "fabric", node.fabric);
    context.authz_upsert(
        tx,
        {.resource = {kNodeType, node.id.str()},
         .tenant_id = node.tenant_id,
         .attributes = std::make_shared<const Json>(std::move(attributes)),
         .owner_id = std::nullopt,
         .pending = nullptr}
    );
}

void publish_node_to(
    const method::Context& context,
    store::Transaction& tx,
    const Node& node,
    const NodeEvent& event,
    const std::vector<Holder>& holders
) {
    publish_to_all(context, tx, node, event.type, holders, [&](const std::vector<Holder>& seen) {
        Json data{
            {"poolId", node.pool_id.str()},
            {"name", node.name},
            {"epoch", node.epoch},
            {"sinceMs", event.silent_ms},
            {"affected", affected_json(seen)}};
        put(data, "reason", event.reason);
        return data;
    });
}

void publish_node(
    const method::Context& context, store::Transaction& tx, const Node& node, const NodeEvent& event
) {
    publish_node_to(context, tx, node, event, holders_on(tx, node.id, context.now()));
}

void publish_gpu(
    const method::Context& context,
    store::Transaction& tx,
    const Node& node,
    const std::string& type,
    const NodeGpu& gpu,
    const std::vector<NodeGpu>& gpus
) {
    const auto present = std::count_if(gpus.begin(), gpus.end(), [](const NodeGpu& one) {
        return one.health != "missing";
    });
    const auto holders = holders_on(tx, node.id, context.now(), gpu.uuid);
    publish_to_all(context, tx, node, type, holders, [&](const std::vector<Holder>& seen) {
        Json data{
            {"poolId", node.pool_id.str()},
            {"gpu", gpu.uuid},
            {"model", gpu.model},
            {"index", gpu.index},
            {"pciBusId", gpu.pci_bus_id},
            {"expected", node.expected_gpus},
            {"present", present},
            {"holders", ids_of(seen)}};
        put(data, "xid", gpu.xid);
        return data;
    });
}

}  // namespace compute::capacity
