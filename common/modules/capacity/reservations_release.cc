// reservations.release. Repeating it on one that is over answers it.
#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/reservation_changes.h"
#include "modules/capacity/reservation_fields.h"
#include "modules/capacity/reservation_rows.h"
#include "modules/capacity/reservation_view.h"

namespace compute::capacity {
namespace {

Json handle(method::Context& context, ReservationIdInput& input) {
    store::Transaction& tx = context.transaction();
    Reservation reservation = get_reservation_to_change(tx, input.tenant_id, input.reservation_id);
    if (is_undecided(reservation.state)) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "reservationId: the reservation has not been allowed",
            Json{{"state", state_name(reservation.state)}}
        );
    }
    if (!is_terminal(reservation.state)) {
        become_released(context, tx, reservation);
    }
    return reservation_json(reservation, read_extras(tx, reservation));
}

}  // namespace

method::MethodEntry reservations_release() {
    method::Method<ReservationIdInput> method;
    method.action = "compute:reservations:release";
    method.kind = method::Kind::Mutation;
    method.resource = [](const ReservationIdInput& input) {
        return method::Resource{kReservationType, input.reservation_id.str(), std::nullopt};
    };
    method.input(reservation_manifest());
    method.handler = handle;
    return {
        "reservations",
        "release",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:reservations:release",
            .resource_type = kReservationType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
