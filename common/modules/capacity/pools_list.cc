#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/page.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

struct ListInput {
    TenantId tenant_id;
    std::optional<std::string> name;
    std::optional<std::string> packing;
    std::optional<std::string> sharing;
    std::optional<bool> shared;
    std::int64_t limit = kDefaultLimit;
    std::optional<std::string> cursor;
};

schema::Manifest<ListInput> list_manifest() {
    const PoolShapes shapes = pool_shapes();
    schema::Manifest<ListInput> manifest;
    manifest.required("tenantId", &ListInput::tenant_id, schema::tenant_id())
        .optional("name", &ListInput::name, schema::name())
        .optional("packing", &ListInput::packing, shapes.packing)
        .optional("sharing", &ListInput::sharing, shapes.sharing)
        .optional(
            "shared",
            &ListInput::shared,
            schema::boolean(),
            "true: only pools of others, false: only own ones"
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

Json handle(method::Context& context, ListInput& input) {
    PoolFilter filter{
        .name = input.name,
        .packing = input.packing,
        .sharing = input.sharing,
        .shared = input.shared,
        .after_name = {},
        .after_id = {}};
    filter.limit = input.limit + 1;  // one more tells whether there is a next page
    if (input.cursor) {
        const auto key = decode_cursor(*input.cursor, 2);
        filter.after_name = key[0];
        filter.after_id = key[1];
    }
    std::vector<Pool> pools = list_pools(context.transaction(), input.tenant_id, filter);
    Json answer{{"items", Json::array()}};
    if (std::cmp_greater(pools.size(), input.limit)) {
        pools.pop_back();
        answer["nextCursor"] = encode_cursor({pools.back().name, pools.back().id.str()});
    }
    for (const Pool& pool : pools) {
        answer["items"].push_back(pool_json(pool, input.tenant_id));
    }
    return answer;
}

}  // namespace

method::MethodEntry pools_list() {
    method::Method<ListInput> list;
    list.action = "compute:pools:list";
    list.kind = method::Kind::Read;
    list.resource = [](const ListInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    list.input(list_manifest());
    list.handler = handle;
    return {
        "pools",
        "list",
        method::define_method(std::move(list)),
        method::MethodRow{
            .action = "compute:pools:list", .resource_type = "tenant", .alternatives = {}}};
}

}  // namespace compute::capacity
