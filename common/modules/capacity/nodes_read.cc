// nodes.get and nodes.list.
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/node_fields.h"
#include "modules/capacity/node_view.h"
#include "modules/capacity/page.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

struct GetInput {
    TenantId tenant_id;
    NodeId node_id;
};

struct ListInput {
    TenantId tenant_id;
    std::optional<std::string> pool_id;
    std::optional<std::string> connection;
    std::optional<std::string> admin;
    std::optional<std::string> gpu_model;
    std::optional<bool> degraded;
    std::int64_t limit = kDefaultLimit;
    std::optional<std::string> cursor;
};

schema::Manifest<ListInput> list_manifest() {
    schema::Manifest<ListInput> manifest;
    manifest.required("tenantId", &ListInput::tenant_id, schema::tenant_id())
        .optional("poolId", &ListInput::pool_id, pool_id_shape())
        .optional(
            "connection", &ListInput::connection, schema::one_of({"ready", "disconnected", "lost"})
        )
        .optional(
            "admin",
            &ListInput::admin,
            schema::one_of({"enabled", "cordoned", "draining", "drained"})
        )
        .optional(
            "gpuModel",
            &ListInput::gpu_model,
            schema::string({.pattern = {}, .min_length = 1, .max_length = 96}),
            "those with a GPU of this model"
        )
        .optional(
            "degraded",
            &ListInput::degraded,
            schema::boolean(),
            "true: only those with a GPU that is missing or not healthy"
        )
        .defaulted("limit", &ListInput::limit, limit_shape(), "default 50")
        .optional("cursor", &ListInput::cursor, cursor_shape(), "nextCursor of the page before")
        .rule([](const ListInput& input) {
            if (input.cursor) {
                (void)decode_cursor(*input.cursor, 2);
            }
        });
    return manifest;
}

Json list_handler(method::Context& context, ListInput& input) {
    store::Transaction& tx = context.transaction();
    NodeFilter filter{
        .pool_id = input.pool_id,
        .connection = input.connection,
        .admin = input.admin,
        .gpu_model = input.gpu_model,
        .degraded = input.degraded,
        .after_name = {},
        .after_id = {}};
    filter.limit = input.limit + 1;  // one more tells whether there is a next page
    if (input.cursor) {
        const auto key = decode_cursor(*input.cursor, 2);
        filter.after_name = key[0];
        filter.after_id = key[1];
    }
    std::vector<Node> nodes = list_nodes(tx, input.tenant_id, filter);
    Json answer{{"items", Json::array()}};
    if (std::cmp_greater(nodes.size(), input.limit)) {
        nodes.pop_back();
        answer["nextCursor"] = encode_cursor({nodes.back().name, nodes.back().id.str()});
    }
    auto gpus = gpus_of_nodes(tx, input.tenant_id, nodes);
    for (const Node& node : nodes) {
        answer["items"].push_back(node_json(node, gpus[node.id]));
    }
    return answer;
}

}  // namespace

method::MethodEntry nodes_get() {
    method::Method<GetInput> get;
    get.action = "compute:nodes:read";
    get.kind = method::Kind::Read;
    get.resource = [](const GetInput& input) {
        return method::Resource{kNodeType, input.node_id.str(), std::nullopt};
    };
    get.input(schema::Manifest<GetInput>()
                  .required("tenantId", &GetInput::tenant_id, schema::tenant_id())
                  .required("nodeId", &GetInput::node_id, node_id_shape()));
    get.handler = [](method::Context& context, GetInput& input) {
        store::Transaction& tx = context.transaction();
        const Node node = get_node(tx, input.tenant_id, input.node_id);
        return node_detail_json(tx, node, gpus_of(tx, node.tenant_id, node.id), context.now());
    };
    return {
        "nodes",
        "get",
        method::define_method(std::move(get)),
        method::MethodRow{
            .action = "compute:nodes:read",
            .resource_type = kNodeType,
            .alternatives = {},
            .phase = 2}};
}

method::MethodEntry nodes_list() {
    method::Method<ListInput> list;
    list.action = "compute:nodes:list";
    list.kind = method::Kind::Read;
    list.resource = [](const ListInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    list.input(list_manifest());
    list.handler = list_handler;
    return {
        "nodes",
        "list",
        method::define_method(std::move(list)),
        method::MethodRow{
            .action = "compute:nodes:list",
            .resource_type = "tenant",
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
