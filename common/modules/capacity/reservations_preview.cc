// reservations.preview: where a reservation would stand if it were asked for now. Promises nothing.
#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/placing.h"
#include "modules/capacity/reservation_fields.h"

namespace compute::capacity {
namespace {

Json handle(const SharedPlacement& placement, method::Context& context, ReservationInput& input) {
    const EpochMs now = context.now();
    const Pool pool =
        get_pool(context.transaction(), input.tenant_id, input.pool_id, Reach::OwnOrShared);
    check_against_pool(input, pool);
    check_times(input, now);
    const Window window = window_of(input, pool.settings, now);
    const PlacementRequest request = placement_request(input, pool.settings, window);
    placement->catch_up(context.transaction(), context.runtime->clock);
    const PlaceResult result = placement->with([&](PlacementIndex& index) {
        return index.place(pool.id.str(), request, now);
    });
    Json answer{{"fits", result.placement.has_value()}};
    if (result.placement) {
        answer["earliestStart"] = window.starts_at;
        answer["endsAt"] = window.ends_at;
        answer["nodes"] = result.placement->nodes.size();
        return answer;
    }
    if (result.explanation) {
        if (result.explanation->earliest_start) {
            answer["earliestStart"] = *result.explanation->earliest_start;
        }
        answer["couldEverFit"] = result.explanation->could_ever_fit;
        answer["explanation"] = explanation_json(*result.explanation);
    }
    return answer;
}

}  // namespace

method::MethodEntry reservations_preview(const SharedPlacement& placement) {
    method::Method<ReservationInput> method;
    method.action = "compute:reservations:read";
    method.kind = method::Kind::Read;
    method.resource = [](const ReservationInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    method.input(preview_manifest());
    method.handler = [placement](method::Context& context, ReservationInput& input) {
        return handle(placement, context, input);
    };
    return {
        "reservations",
        "preview",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:reservations:read",
            .resource_type = "tenant",
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
