// reservations.create: a draft is written with what it asks for, decided on as that, and becomes
// placed when it fits, pending when it does not.
//
// If the process dies
//   - behind prepare, the decision or check: the draft holds nothing; a retry with the same key
//   goes
//     on from it, and one that is never retried is removed after a day;
//   - inside the handler's transaction: nothing of it happened, the hold in memory is gone with the
//     process;
//   - behind its commit: the reservation stands, a retry answers it.
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/placing.h"
#include "modules/capacity/project.h"
#include "modules/capacity/queue_rules.h"
#include "modules/capacity/quota.h"
#include "modules/capacity/reservation_changes.h"
#include "modules/capacity/reservation_fields.h"
#include "modules/capacity/reservation_quota.h"
#include "modules/capacity/reservation_rows.h"
#include "modules/capacity/reservation_view.h"

namespace compute::capacity {
namespace {

struct CreateInput : ReservationInput {
    std::optional<PoolSettings> pool;  // as prepare saw it, for check
    SharedDecision decision;           // made by check, for the handler
};

ReservationId id_of(const method::Context& context, const CreateInput& input) {
    return ReservationId(method::draft_id(
        kReservationPrefix, input.tenant_id, context.caller->identity_id, input.idempotency_key
    ));
}

ComputeError concurrent_change() {
    return {
        ErrorCode::Conflict,
        "the same call has just been made",
        Json{{"reason", "concurrent-change"}}};
}

// What the request stands on: the pool as the tenant may use it, and the project if it names one.
Pool check_ground(store::Transaction& tx, const CreateInput& input, EpochMs now) {
    Pool pool = get_pool(tx, input.tenant_id, input.pool_id, Reach::OwnOrShared);
    check_against_pool(input, pool);
    check_times(input, now);
    if (input.project_id && get_project(tx, input.tenant_id, *input.project_id).archived_at) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "projectId: the project is archived",
            Json{{"state", "archived"}}
        );
    }
    return pool;
}

Reservation new_draft(const method::Context& context, const CreateInput& input, const Pool& pool) {
    Reservation draft;
    draft.id = id_of(context, input);
    draft.tenant_id = input.tenant_id;
    draft.identity_id = context.caller->identity_id;
    draft.pool_tenant_id = pool.tenant_id;
    draft.request = input;
    draft.request_hash = context.request_hash;
    draft.duration_seconds = input.duration_seconds;
    draft.cleanup_seconds = pool.settings.cleanup_seconds;
    draft.created_at = draft.updated_at = context.now();
    return draft;
}

method::Prepared decide_on(
    const method::Context& context, store::Transaction& tx, const Reservation& draft
) {
    project_reservation(context, tx, draft);
    method::Prepared prepared =
        method::Prepared::decide({kReservationType, draft.id.str(), std::nullopt});
    prepared.draft_id = draft.id.str();
    prepared.context = std::make_shared<const Json>(reservation_attributes(draft, context.now()));
    return prepared;
}

method::Prepared prepare(method::Context& context, CreateInput& input, store::Transaction& tx) {
    auto known = find_reservation_to_change(tx, input.tenant_id, id_of(context, input));
    if (known && known->request_hash != context.request_hash) {
        throw ComputeError(
            ErrorCode::Conflict,
            "idempotencyKey: was used for another request",
            Json{{"reason", "idempotency-key-reused"}, {"reservationId", known->id.str()}}
        );
    }
    if (known && !is_undecided(known->state)) {
        return method::Prepared::replay(reservation_json(*known, read_extras(tx, *known)));
    }
    const Pool pool = check_ground(tx, input, context.now());
    input.pool = pool.settings;
    if (!known) {
        Reservation draft = new_draft(context, input, pool);
        if (!insert_reservation(tx, draft)) {
            throw concurrent_change();
        }
        return decide_on(context, tx, draft);
    }
    // Refused before, or never decided: the same draft is decided again. Its version tells a call
    // under way that another one has taken over.
    known->state = ReservationState::Draft;
    known->updated_at = context.now();
    save_reservation(tx, *known);
    return decide_on(context, tx, *known);
}

void denied(
    method::Context& context, CreateInput& input, store::Transaction& tx, const ComputeError& error
) {
    auto draft = find_reservation_to_change(tx, input.tenant_id, id_of(context, input));
    if (!draft || draft->state != ReservationState::Draft ||
        draft->request_hash != context.request_hash) {
        return;  // the same call made again has come further meanwhile
    }
    draft->state = ReservationState::Denied;
    draft->updated_at = context.now();
    if (error.code() == ErrorCode::ConfirmationRequired && error.details() != nullptr) {
        draft->state = ReservationState::AwaitingConfirmation;
        draft->confirmation_id = error.details()->at("confirmationId").get<std::string>();
        draft->confirmation_expires_at.reset();
        if (const auto expires = error.details()->find("expiresAt");
            expires != error.details()->end() && expires->is_number_integer()) {
            draft->confirmation_expires_at = expires->get<EpochMs>();
        }
    }
    save_reservation(tx, *draft);
}

std::string describe(const CreateInput& input) {
    std::ostringstream text;
    text << "reserve " << input.gpu_count << (input.gpu_count == 1 ? " GPU" : " GPUs");
    for (std::size_t i = 0; i < input.gpu_models.size(); ++i) {
        text << (i == 0 ? " (" : " or ") << input.gpu_models[i];
    }
    text << (input.gpu_models.empty() ? "" : ")") << " of pool " << input.pool_id.str() << " for "
         << input.duration_seconds << " seconds";
    if (input.starts_at) {
        text << " from " << iso_time(*input.starts_at);
    }
    return text.str();
}

// No transaction is open here, so the IAM may be asked and the database read for the index. What is
// chosen is held until the handler's transaction is over.
void check(const SharedPlacement& placement, method::Context& context, CreateInput& input) {
    const iam::BillingVerdict verdict = context.iam().billing_check(
        *context.session, input.tenant_id, gpu_hours(input, input.duration_seconds)
    );
    if (!verdict.is_allowed) {
        Json details = Json::object();
        if (verdict.blocked_by) {
            details["budget"] = *verdict.blocked_by;
        }
        throw ComputeError(
            ErrorCode::BudgetExceeded, "a budget does not cover this reservation", details
        );
    }
    placement->catch_up(context.runtime->database, context.runtime->clock);
    const EpochMs now = context.now();
    const Window window = window_of(input, *input.pool, now);
    const PlacementRequest request = placement_request(input, *input.pool, window);
    placement->with([&](PlacementIndex& index) {
        index.note_demand(input.pool_id.str(), request, now);
    });
    input.decision = decide(placement, input.pool_id, request, window, now);
}

void check_name(store::Transaction& tx, const CreateInput& input) {
    if (!input.name) {
        return;
    }
    if (const auto taken = find_alive_by_name(tx, input.tenant_id, *input.name)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "name: is taken by another reservation",
            Json{{"reason", "name-taken"}, {"reservationId", taken->str()}}
        );
    }
}

Json become_pending_answer(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const std::optional<Explanation>& explanation
) {
    check_quota(tx, quota_of_pending(reservation), context.now());
    become_pending(context, tx, reservation, explanation);
    return reservation_json(reservation, read_extras(tx, reservation));
}

Json handle(const SharedPlacement& placement, method::Context& context, CreateInput& input) {
    store::Transaction& tx = context.transaction();
    // Taken out of the input: it must not outlive the handler, the call may go on waiting.
    SharedDecision decision = std::move(input.decision);
    auto draft = find_reservation_to_change(tx, input.tenant_id, id_of(context, input));
    if (!draft || draft->state != ReservationState::Draft ||
        draft->request_hash != context.request_hash) {
        throw concurrent_change();  // another call with the key has decided it; a retry answers it
    }
    const EpochMs now = context.now();
    const Pool pool = check_ground(tx, input, now);
    draft->cleanup_seconds = pool.settings.cleanup_seconds;
    check_name(tx, input);
    if (has_barrier(tx, pool, input, now)) {
        return become_pending_answer(context, tx, *draft, std::nullopt);
    }
    const Window window = decision ? decision->window() : window_of(input, pool.settings, now);
    PlacementRequest request = placement_request(input, pool.settings, window);
    if (!decision) {
        decision = decide(placement, input.pool_id, request, window, now);
    }
    if (decision->placement()) {
        check_quota(tx, quota_of_placement(tx, *draft, window, *decision->placement()), now);
    }
    const SharedDecision tested = decision;
    const Booked booked = book(
        context,
        tx,
        placement,
        std::move(decision),
        std::move(request),
        {.tenant_id = draft->tenant_id,
         .pool_tenant_id = pool.tenant_id,
         .pool_id = pool.id,
         .holder_id = draft->id.str()}
    );
    if (booked.bookings.empty()) {
        return become_pending_answer(context, tx, *draft, booked.decision->explanation());
    }
    // What was chosen first was taken meanwhile: what it got instead may be of another model.
    if (booked.decision != tested) {
        QuotaRequest got = quota_of_placement(tx, *draft, window, *booked.decision->placement());
        got.extends = draft->id.str();  // its bookings are there already
        check_quota(tx, got, now);
    }
    become_placed(context, tx, *draft, window, booked.bookings);
    return reservation_json(*draft, {.bookings = booked.bookings, .queue_position = {}});
}

Json refresh(method::Context& context, CreateInput& input, const Json& /*output*/) {
    store::Transaction& tx = context.transaction();
    const Reservation now = get_reservation(tx, input.tenant_id, id_of(context, input));
    return reservation_json(now, read_extras(tx, now));
}

}  // namespace

method::MethodEntry reservations_create(const SharedPlacement& placement) {
    method::Method<CreateInput> create;
    create.action = "compute:reservations:create";
    create.kind = method::Kind::Mutation;
    // What it is decided on is the draft, which prepare names.
    create.resource = [](const CreateInput&) { return std::optional<method::Resource>(); };
    const auto manifest = create_manifest();
    create.json_schema = manifest.json_schema();
    create.validate = [manifest](const Json& raw) {
        return CreateInput{manifest.parse(raw), {}, {}};
    };
    create.handler = [placement](method::Context& context, CreateInput& input) {
        return handle(placement, context, input);
    };
    auto& admission = create.admission.emplace();
    admission.prepare = prepare;
    admission.denied = denied;
    admission.describe = describe;
    admission.check = [placement](method::Context& context, CreateInput& input, const auto&) {
        check(placement, context, input);
    };
    create.poll = {
        .done = [](const Json& output) { return output.at("operation").at("state") != "running"; },
        .refresh = refresh};
    return {
        "reservations",
        "create",
        method::define_method(std::move(create)),
        method::MethodRow{
            .action = "compute:reservations:create",
            .resource_type = kReservationType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
