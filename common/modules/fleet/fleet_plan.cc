#include "modules/fleet/fleet.h"
#include "modules/fleet/fleet_input.h"

namespace compute::fleet {

PlanRequest plan_request(const method::Context& context, const FleetInput& input) {
    return {
        .document = input.document,
        .prune = input.prune,
        .derive_id = [&context, &input](std::string_view prefix, std::string_view key) {
            return method::draft_id(
                prefix, input.document.tenant_id, context.caller->identity_id, key
            );
        }};
}

method::MethodEntry fleet_plan() {
    method::Method<FleetInput> method;
    method.action = "compute:fleet:read";
    method.kind = method::Kind::Read;
    method.resource = [](const FleetInput&) { return method::Resource::fleet(); };
    method.input(fleet_manifest<FleetInput>());
    method.handler = [](method::Context& context, FleetInput& input) {
        return make_plan(context.transaction(), plan_request(context, input)).json();
    };
    return {
        "fleet",
        "plan",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:fleet:read",
            .resource_type = iam::kFleetType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::fleet
