#include "capacity/name_list.h"
#include "modules/fleet/fleet.h"
#include "modules/fleet/snapshot.h"

namespace compute::fleet {
namespace {

struct ExportInput {
    TenantId tenant_id;
};

// `expected` stands beside the document, not in it, so that the document can be applied as it is.
Json handle(method::Context& context, ExportInput& input) {
    store::Transaction& tx = context.transaction();
    const Snapshot snapshot = read_snapshot(tx, input.tenant_id);
    Json answer{
        {"document", document_of(snapshot, input.tenant_id).json()}, {"expected", Json::array()}};
    for (const auto& [pool, names] : expected_nodes(tx, input.tenant_id)) {
        answer["expected"].push_back(
            {{"pool", pool}, {"nodes", names.size()}, {"names", capacity::compress_names(names)}}
        );
    }
    return answer;
}

}  // namespace

method::MethodEntry fleet_export() {
    schema::Manifest<ExportInput> manifest;
    manifest.required("tenantId", &ExportInput::tenant_id, schema::tenant_id());
    method::Method<ExportInput> method;
    method.action = "compute:fleet:read";
    method.kind = method::Kind::Read;
    method.resource = [](const ExportInput&) { return method::Resource::fleet(); };
    method.input(manifest);
    method.handler = handle;
    return {
        "fleet",
        "export",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:fleet:read",
            .resource_type = iam::kFleetType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::fleet
