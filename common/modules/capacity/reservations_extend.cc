// reservations.extend: the same atoms until a later, absolute end, so that a repeated call cannot
// extend twice.
//
// prepare stages the new end on the row and in the projection, where the decision sees gpuCount,
// durationSeconds (in total), gpuHours and endsAt as they would be. Whatever goes wrong then
// (refusal, a handler that throws) clears the stage by one function; a process that dies leaves it
// to the timers, which clear it ten minutes later, and a repeated call stages it anew.
#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "modules/capacity/extend_rows.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/node_room.h"
#include "modules/capacity/reservation_changes.h"
#include "modules/capacity/reservation_fields.h"
#include "modules/capacity/reservation_quota.h"
#include "modules/capacity/reservation_rows.h"
#include "modules/capacity/reservation_view.h"

namespace compute::capacity {
namespace {

struct ExtendInput {
    TenantId tenant_id;
    ReservationId reservation_id;
    EpochMs ends_at = 0;
    std::string idempotency_key;
    double more_gpu_hours = 0;  // found by prepare, for check
};

schema::Manifest<ExtendInput> extend_manifest() {
    schema::Manifest<ExtendInput> manifest;
    manifest.required("tenantId", &ExtendInput::tenant_id, schema::tenant_id())
        .required("reservationId", &ExtendInput::reservation_id, reservation_id_shape())
        .required(
            "endsAt", &ExtendInput::ends_at, time_shape(), "epoch ms; later than the current end"
        )
        .required(
            "idempotencyKey",
            &ExtendInput::idempotency_key,
            schema::idempotency_key(),
            "repeating the call with it answers the same extend"
        );
    return manifest;
}

ExtendKey key_of(const method::Context& context, const ExtendInput& input) {
    return {
        .tenant_id = input.tenant_id,
        .identity_id = context.caller->identity_id,
        .key = input.idempotency_key};
}

bool is_staged_by(
    const Reservation& reservation, const method::Context& context, const ExtendInput& input
) {
    return reservation.extending &&
           reservation.extending->identity_id == context.caller->identity_id &&
           reservation.extending->key == input.idempotency_key &&
           reservation.extending->ends_at == input.ends_at;
}

void check_running(const Reservation& reservation, EpochMs now) {
    const bool is_running = reservation.state == ReservationState::Placed ||
                            reservation.state == ReservationState::Active;
    // At its end it is over, whether or not the timer has come to it.
    if (!is_running || *reservation.ends_at <= now) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "reservationId: only a placed or active reservation can be extended",
            Json{{"state", state_name(reservation.state)}}
        );
    }
}

std::int64_t total_seconds(const Reservation& reservation, EpochMs ends_at) {
    return (ends_at - *reservation.starts_at) / 1000;
}

void check_end(store::Transaction& tx, const Reservation& reservation, const ExtendInput& input) {
    if (input.ends_at <= *reservation.ends_at) {
        throw invalid_input("endsAt: must be after the current end");
    }
    if ((input.ends_at - *reservation.starts_at) % 1000 != 0) {
        throw invalid_input("endsAt: must be whole seconds after startsAt");
    }
    const Pool pool =
        get_pool(tx, input.tenant_id, reservation.request.pool_id, Reach::OwnOrShared);
    if (total_seconds(reservation, input.ends_at) > pool.settings.max_duration_seconds) {
        throw invalid_input(
            "endsAt: the whole duration must be at most " +
            std::to_string(pool.settings.max_duration_seconds) + " seconds in this pool"
        );
    }
}

// Refused while another extend is being decided; one that was left behind is taken over.
void check_not_extending(
    const method::Context& context, const Reservation& reservation, const ExtendInput& input
) {
    if (reservation.extending && !is_staged_by(reservation, context, input) &&
        reservation.extending->staged_at + kStagedLifeMs > context.now()) {
        throw ComputeError(
            ErrorCode::Conflict,
            "another extend of this reservation is being decided",
            Json{{"reason", "extend-pending"}, {"endsAt", reservation.extending->ends_at}}
        );
    }
}

void stage(
    method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const ExtendInput& input
) {
    const EpochMs now = context.now();
    reservation.extending = StagedExtend{
        .identity_id = context.caller->identity_id,
        .key = input.idempotency_key,
        .ends_at = input.ends_at,
        .staged_at = now};
    reservation.updated_at = now;
    save_reservation(tx, reservation);
    put_extend(
        tx,
        {.key = key_of(context, input),
         .reservation_id = reservation.id,
         .request_hash = context.request_hash,
         .ends_at = input.ends_at,
         .expires_at = now + kStagedLifeMs,
         .done_at = std::nullopt},
        now
    );
}

method::Prepared prepare(method::Context& context, ExtendInput& input, store::Transaction& tx) {
    auto found = find_reservation_to_change(tx, input.tenant_id, input.reservation_id);
    if (!found) {
        // Decided like any id, and answered by the handler: only who may extend it learns that it
        // is not there.
        return method::Prepared::decide({kReservationType, input.reservation_id.str(), std::nullopt}
        );
    }
    Reservation& reservation = *found;
    if (const auto before = find_extend(tx, key_of(context, input))) {
        if (before->request_hash != context.request_hash) {
            throw ComputeError(
                ErrorCode::Conflict,
                "idempotencyKey: was used for another request",
                Json{
                    {"reason", "idempotency-key-reused"},
                    {"reservationId", before->reservation_id.str()}}
            );
        }
        if (before->done_at) {
            return method::Prepared::replay(
                reservation_json(reservation, read_extras(tx, reservation))
            );
        }
    }
    check_running(reservation, context.now());
    check_end(tx, reservation, input);
    check_not_extending(context, reservation, input);
    stage(context, tx, reservation, input);
    const std::int64_t seconds = total_seconds(reservation, input.ends_at);
    input.more_gpu_hours = gpu_hours(reservation.request, seconds - reservation.duration_seconds);
    const auto pending = std::make_shared<const Json>(Json{
        {"gpuCount", reservation.request.gpu_count},
        {"durationSeconds", seconds},
        {"gpuHours", gpu_hours(reservation.request, seconds)},
        {"endsAt", input.ends_at}});
    project_reservation(context, tx, reservation, pending);
    auto prepared =
        method::Prepared::decide({kReservationType, reservation.id.str(), std::nullopt});
    prepared.context = pending;
    return prepared;
}

void check(method::Context& context, ExtendInput& input) {
    const iam::BillingVerdict verdict =
        context.iam().billing_check(*context.session, input.tenant_id, input.more_gpu_hours);
    if (!verdict.is_allowed) {
        Json details = Json::object();
        if (verdict.blocked_by) {
            details["budget"] = *verdict.blocked_by;
        }
        throw ComputeError(
            ErrorCode::BudgetExceeded, "a budget does not cover this extend", details
        );
    }
}

// `denied` and `abandoned` both: takes back what prepare staged, so that later decisions see the
// reservation as it is. The key stays bound to its request until it expires; while a confirmation
// waits that long, so that the approval cannot be spent on another one.
void clear(
    method::Context& context,
    ExtendInput& input,
    store::Transaction& tx,
    const std::exception& error
) {
    auto reservation = find_reservation_to_change(tx, input.tenant_id, input.reservation_id);
    if (!reservation || !is_staged_by(*reservation, context, input)) {
        return;
    }
    clear_staged(context, tx, *reservation);
    reservation->updated_at = context.now();
    save_reservation(tx, *reservation);
    auto row = find_extend(tx, key_of(context, input));
    const auto* refusal = dynamic_cast<const ComputeError*>(&error);
    if (!row || refusal == nullptr || refusal->code() != ErrorCode::ConfirmationRequired ||
        refusal->details() == nullptr) {
        return;
    }
    const EpochMs expires = refusal->details()->value("expiresAt", context.now() + kDeniedLifeMs);
    row->expires_at = expires + kAwaitingGraceMs;
    put_extend(tx, *row, context.now());
}

// How long all that is held stays free, from the end of what is booked. The nodes are marked first,
// in the order of their ids, which keeps others from booking on them.
EpochMs free_until(
    store::Transaction& tx,
    const Reservation& reservation,
    const std::vector<Booking>& held,
    EpochMs to
) {
    const EpochMs from = reservation.booked_until();
    std::map<NodeId, NodeDemand> demands;
    for (const Booking& booking : held) {
        NodeDemand& demand = demands[booking.node_id];
        if (booking.gpu_uuid) {
            demand.atoms.push_back({*booking.gpu_uuid, booking.milli});
        }
        demand.cpu_milli += booking.cpu_milli;
        demand.memory_mib += booking.memory_mib;
    }
    EpochMs until = to;
    for (const auto& [id, demand] : demands) {
        const auto node = find_node_to_change(tx, id);
        if (!node) {
            return from;
        }
        std::vector<Booking> others = bookings_within(tx, id, from, until);
        std::erase_if(others, [&](const Booking& booking) {
            return booking.holder_id == reservation.id.str();
        });
        until = std::min(until, free_until(*node, others, demand, from, until));
    }
    return until;
}

[[noreturn]] void refuse_no_room(const Reservation& reservation, EpochMs free) {
    throw ComputeError(
        ErrorCode::Conflict,
        "endsAt: the GPUs are booked by others before then",
        {.details = std::make_shared<const Json>(Json{
             {"reason", "no-capacity"},
             {"maxEndsAt",
              std::max(*reservation.ends_at, free - reservation.cleanup_seconds * 1000)}}),
         .log_detail = {},
         .hint = "ask for an end at or before maxEndsAt"}
    );
}

void move_end(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const std::vector<Booking>& held,
    EpochMs ends_at
) {
    const EpochMs before = *reservation.ends_at;
    const EpochMs booked_before = reservation.booked_until();
    reservation.ends_at = ends_at;
    reservation.duration_seconds = total_seconds(reservation, ends_at);
    reservation.extending.reset();
    reservation.updated_at = context.now();
    for (const NodeId& node : nodes_of(held)) {
        mark_node_changed(tx, reservation.pool_tenant_id, node);
    }
    move_bookings_end(
        tx, reservation.tenant_id, reservation.id.str(), booked_before, reservation.booked_until()
    );
    fail_point("reservation.extended");
    save_reservation(tx, reservation);
    spend(tx, reservation, before, ends_at, 1);
}

Json handle(method::Context& context, ExtendInput& input) {
    store::Transaction& tx = context.transaction();
    Reservation reservation = get_reservation_to_change(tx, input.tenant_id, input.reservation_id);
    if (!is_staged_by(reservation, context, input)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the reservation has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    check_running(reservation, context.now());
    check_end(tx, reservation, input);
    const std::vector<Booking> held = bookings_of(
        tx, reservation.tenant_id, reservation.id.str(), reservation.booked_until() - 1
    );
    check_quota(tx, quota_of_extend(tx, reservation, held, input.ends_at), context.now());
    const EpochMs wanted = input.ends_at + reservation.cleanup_seconds * 1000;
    const EpochMs free = free_until(tx, reservation, held, wanted);
    if (free < wanted) {
        refuse_no_room(reservation, free);
    }
    move_end(context, tx, reservation, held, input.ends_at);
    put_extend(
        tx,
        {.key = key_of(context, input),
         .reservation_id = reservation.id,
         .request_hash = context.request_hash,
         .ends_at = input.ends_at,
         .expires_at = std::nullopt,
         .done_at = context.now()},
        context.now()
    );
    project_reservation(context, tx, reservation);
    publish_reservation(context, tx, reservation, "reservation.extended", nodes_of(held));
    return reservation_json(reservation, {.bookings = held, .queue_position = {}});
}

}  // namespace

method::MethodEntry reservations_extend() {
    method::Method<ExtendInput> extend;
    extend.action = "compute:reservations:extend";
    extend.kind = method::Kind::Mutation;
    extend.resource = [](const ExtendInput& input) {
        return method::Resource{kReservationType, input.reservation_id.str(), std::nullopt};
    };
    extend.input(extend_manifest());
    extend.handler = handle;
    auto& admission = extend.admission.emplace();
    admission.prepare = prepare;
    admission.denied = clear;
    admission.abandoned = clear;
    admission.check = [](method::Context& context, ExtendInput& input, const auto&) {
        check(context, input);
    };
    admission.describe = [](const ExtendInput& input) {
        return "extend reservation " + input.reservation_id.str() + " until " +
               iso_time(input.ends_at);
    };
    return {
        "reservations",
        "extend",
        method::define_method(std::move(extend)),
        method::MethodRow{
            .action = "compute:reservations:extend",
            .resource_type = kReservationType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
