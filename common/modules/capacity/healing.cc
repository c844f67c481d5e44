#include "modules/capacity/healing.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "modules/capacity/losses.h"
#include "modules/capacity/reservation_changes.h"
#include "modules/capacity/reservation_view.h"

namespace compute::capacity {
namespace {

constexpr int kBatch = 200;

// Where the rest of a gang stands.
constexpr store::Sql kFabric("select fabric from nodes where tenant_id = $1 and id = $2");

struct Patient {
    Reservation reservation;
    std::vector<Loss> losses;
    std::vector<Booking> held;
    Pool pool;
};

bool needs_healing(const Reservation& reservation) {
    return reservation.state == ReservationState::Placed ||
           reservation.state == ReservationState::Active;
}

// Pools are kept as rows when they are deleted, which needs their nodes gone; then nothing heals.
std::optional<Patient> find_patient(store::Transaction& tx, const DueLoss& due) {
    auto reservation = find_reservation_to_change(tx, due.tenant_id, due.reservation_id);
    if (!reservation || !needs_healing(*reservation)) {
        remove_losses(tx, due.tenant_id, due.reservation_id);
        return std::nullopt;
    }
    auto pool = find_own_pool(tx, reservation->pool_tenant_id, reservation->request.pool_id);
    if (!pool) {
        return std::nullopt;
    }
    Patient patient{
        .reservation = *std::move(reservation),
        .losses = losses_of(tx, due.tenant_id, due.reservation_id),
        .held = {},
        .pool = *std::move(pool)};
    const Reservation& row = patient.reservation;
    patient.held = bookings_of(tx, row.tenant_id, row.id.str(), row.booked_until() - 1);
    return patient;
}

PlacementRequest request_for(
    store::Transaction& tx, const Patient& patient, const Loss& loss, const Window& window
) {
    PlacementRequest request =
        placement_request(patient.reservation.request, patient.pool.settings, window);
    request.gpu_count = loss.gpus;
    if (request.gpus_per_node) {
        // A whole part of the claim moves, beside the parts that it still has.
        request.gpus_per_node = loss.gpus;
        for (const NodeId& node : nodes_of(patient.held)) {
            request.avoided_nodes.push_back(node.str());
        }
    }
    if (!request.is_exclusive && loss.gpus > 0) {
        request.cpu_milli_per_gpu = loss.cpu_milli / loss.gpus;
        request.memory_mib_per_gpu = loss.memory_mib / loss.gpus;
    }
    if (request.fabric == FabricWish::Require && !patient.held.empty()) {
        request.fabric_domain =
            tx.get_row(kFabric, {patient.pool.tenant_id, patient.held.front().node_id})
                .find_text(0);
    }
    return request;
}

bool replace(
    const method::Context& context,
    store::Transaction& tx,
    const SharedPlacement& placement,
    Patient& patient,
    const Loss& loss
) {
    Reservation& row = patient.reservation;
    const EpochMs now = context.now();
    const Window window{
        .starts_at = std::max(now, *row.starts_at),
        .ends_at = *row.ends_at,
        .booked_until = row.booked_until()};
    const PlacementRequest request = request_for(tx, patient, loss, window);
    Booked booked = book(
        context,
        tx,
        placement,
        decide(placement, patient.pool.id, request, window, now),
        request,
        {.tenant_id = row.tenant_id,
         .pool_tenant_id = row.pool_tenant_id,
         .pool_id = patient.pool.id,
         .holder_id = row.id.str()}
    );
    if (booked.bookings.empty()) {
        return false;
    }
    remove_loss(tx, loss);
    patient.held.insert(patient.held.end(), booked.bookings.begin(), booked.bookings.end());
    return true;
}

// Nothing is written when nothing has changed, so that passes that find no room are quiet.
void settle(
    const method::Context& context,
    store::Transaction& tx,
    Patient& patient,
    std::int64_t missing,
    bool is_moved
) {
    Reservation& row = patient.reservation;
    if (row.state == ReservationState::Placed && missing > 0) {
        become_unplaced(context, tx, row);
        return;
    }
    if (row.missing_gpus == missing && !is_moved) {
        return;
    }
    row.missing_gpus = missing;
    row.updated_at = context.now();
    save_reservation(tx, row);
    // An active one says so again when its nodes are others, or all there: then without
    // missingGpus.
    const bool is_active = row.state == ReservationState::Active;
    publish_reservation(
        context,
        tx,
        row,
        is_active ? "reservation.degraded" : "reservation.placed",
        nodes_of(patient.held)
    );
}

void heal(
    const method::Runtime& runtime,
    store::Transaction& tx,
    const SharedPlacement& placement,
    const DueLoss& due
) {
    auto patient = find_patient(tx, due);
    if (!patient || patient->losses.empty()) {
        return;
    }
    const method::Context context(runtime);
    if (*patient->reservation.ends_at <= context.now()) {
        return;  // over; its timer ends it
    }
    std::int64_t missing = 0;
    bool is_moved = false;
    for (const Loss& loss : patient->losses) {
        if (replace(context, tx, placement, *patient, loss)) {
            is_moved = true;
        } else {
            missing += loss.gpus;
        }
    }
    fail_point("reservation.healed");
    settle(context, tx, *patient, missing, is_moved);
}

}  // namespace

// Each reservation in a transaction of its own: one that fails leaves the others healed.
std::optional<EpochMs> heal_losses(
    const method::Runtime& runtime, const SharedPlacement& placement, EpochMs now
) {
    const auto [due, next] = runtime.database.read(
        [&](store::Transaction& tx) {
            return std::pair(due_losses(tx, now, kBatch), first_loss_after(tx, now));
        },
        store::Purpose::Background
    );
    for (const DueLoss& loss : due) {
        try {
            runtime.database.write(
                [&](store::Transaction& tx) { heal(runtime, tx, placement, loss); },
                store::Purpose::Background
            );
        } catch (const ComputeError& error) {
            runtime.log.error(
                "reservation.heal-failed",
                {{"reservation", loss.reservation_id.str()},
                 {"error", error.message() + " " + error.log_detail()}}
            );
        }
    }
    return next;
}

}  // namespace compute::capacity
