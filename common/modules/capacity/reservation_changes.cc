#include "modules/capacity/reservation_changes.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "core/json.h"
#include "iam/usage.h"
#include "modules/capacity/losses.h"
#include "modules/capacity/reservation_fields.h"
#include "modules/capacity/reservation_view.h"

namespace compute::capacity {
namespace {

std::vector<NodeId> held_nodes(
    store::Transaction& tx, const Reservation& reservation, EpochMs after
) {
    return nodes_of(bookings_of(tx, reservation.tenant_id, reservation.id.str(), after));
}

// Ends what it holds at `at` and tells the nodes' indexes. The nodes come first, by id: everyone
// who changes bookings holds the nodes before.
void give_back(
    store::Transaction& tx,
    const Reservation& reservation,
    const std::vector<NodeId>& nodes,
    EpochMs at
) {
    for (const NodeId& node : nodes) {
        mark_node_changed(tx, reservation.pool_tenant_id, node);
    }
    close_bookings(tx, reservation.tenant_id, reservation.id.str(), at);
    remove_losses(tx, reservation.tenant_id, reservation.id);
}

// Until when a claim that waits from now on goes on waiting.
EpochMs patience_of(const ReservationRequest& request, EpochMs now) {
    if (request.place_by && *request.place_by > now) {
        return *request.place_by;
    }
    return request.starts_at ? std::max(*request.starts_at, now) : now + kDefaultPatienceMs;
}

// An extend under way has nothing left to extend; the projection loses its pending attributes.
void close(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    ReservationState state,
    const std::optional<std::string>& reason
) {
    clear_staged(context, tx, reservation);
    reservation.state = state;
    reservation.reason = reason;
    reservation.missing_gpus = 0;
    reservation.closed_at = reservation.updated_at = context.now();
    save_reservation(tx, reservation);
}

}  // namespace

void wake_after_commit(
    const method::Context& context, store::Transaction& tx, const char* channel
) {
    tx.after_commit([runtime = context.runtime, channel] {
        runtime->wake.wake(channel);
        runtime->database.notify(channel);
    });
}

void spend(
    store::Transaction& tx, const Reservation& reservation, EpochMs from, EpochMs to, int sign
) {
    constexpr EpochMs kDay = 86'400'000;
    const std::int64_t milli = reservation.request.gpu_count * reservation.request.milli();
    while (from < to) {
        const EpochMs until = std::min(to, (from / kDay + 1) * kDay);
        iam::add_usage(tx, reservation.tenant_id, from, sign * (until - from) * milli / kWholeGpu);
        from = until;
    }
}

void clear_staged(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
) {
    if (reservation.extending) {
        reservation.extending.reset();
        project_reservation(context, tx, reservation);
    }
}

void become_placed(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const Window& window,
    const std::vector<Booking>& bookings
) {
    reservation.state = ReservationState::Placed;
    reservation.starts_at = window.starts_at;
    reservation.ends_at = window.ends_at;
    reservation.cleanup_seconds = (window.booked_until - window.ends_at) / 1000;
    reservation.updated_at = context.now();
    reservation.placed_at = reservation.updated_at;
    reservation.queued_at = reservation.queued_at.value_or(reservation.updated_at);
    reservation.place_by.reset();
    reservation.skipped_at.reset();
    reservation.explanation.reset();
    reservation.reason.reset();
    save_locked_reservation(tx, reservation);
    fail_point("reservation.booked");
    spend(tx, reservation, window.starts_at, window.ends_at, 1);
    project_reservation(context, tx, reservation);
    publish_reservation(context, tx, reservation, "reservation.placed", nodes_of(bookings));
    wake_after_commit(context, tx, kTimersChannel);
}

void become_pending(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const std::optional<Explanation>& explanation
) {
    const EpochMs now = context.now();
    reservation.state = ReservationState::Pending;
    reservation.updated_at = now;
    reservation.queued_at = reservation.queued_at.value_or(now);
    reservation.place_by = patience_of(reservation.request, now);
    if (explanation) {
        reservation.explanation = dump_json(explanation_json(*explanation));
    }
    save_reservation(tx, reservation);
    fail_point("reservation.queued");
    publish_reservation(context, tx, reservation, "reservation.pending", {});
    wake_after_commit(context, tx, kTimersChannel);
    wake_after_commit(context, tx, kPlacerChannel);
}

void become_active(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
) {
    reservation.state = ReservationState::Active;
    reservation.updated_at = context.now();
    save_reservation(tx, reservation);
    const auto nodes = held_nodes(tx, reservation, reservation.booked_until() - 1);
    publish_reservation(context, tx, reservation, "reservation.active", nodes);
}

void become_ended(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
) {
    const auto nodes = held_nodes(tx, reservation, reservation.booked_until() - 1);
    remove_losses(tx, reservation.tenant_id, reservation.id);
    close(context, tx, reservation, ReservationState::Ended, std::nullopt);
    publish_reservation(context, tx, reservation, "reservation.ended", nodes);
    // Its atoms come free with the cleanup time, which the placer knows when it looks now.
    wake_after_commit(context, tx, kPlacerChannel);
}

void become_failed(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const std::string& reason
) {
    close(context, tx, reservation, ReservationState::Failed, reason);
    publish_reservation(context, tx, reservation, "reservation.failed", {});
    wake_after_commit(context, tx, kPlacerChannel);  // it may have barred the way of others
}

void become_released(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
) {
    const EpochMs now = context.now();
    std::vector<NodeId> nodes;
    if (reservation.state != ReservationState::Pending) {
        const bool has_begun = *reservation.starts_at <= now;
        nodes = held_nodes(tx, reservation, now);
        spend(tx, reservation, std::max(now, *reservation.starts_at), *reservation.ends_at, -1);
        give_back(
            tx, reservation, nodes, has_begun ? now + reservation.cleanup_seconds * 1000 : now
        );
        if (has_begun) {
            reservation.ends_at = std::min(now, *reservation.ends_at);
        }
    }
    fail_point("reservation.freed");
    close(context, tx, reservation, ReservationState::Released, std::nullopt);
    publish_reservation(context, tx, reservation, "reservation.released", nodes);
    wake_after_commit(context, tx, kPlacerChannel);
}

void become_unplaced(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
) {
    const EpochMs now = context.now();
    const auto nodes = held_nodes(tx, reservation, now);
    spend(tx, reservation, *reservation.starts_at, *reservation.ends_at, -1);
    give_back(tx, reservation, nodes, now);
    clear_staged(context, tx, reservation);
    reservation.state = ReservationState::Pending;
    reservation.updated_at = now;
    reservation.starts_at.reset();
    reservation.ends_at.reset();
    reservation.placed_at.reset();
    reservation.missing_gpus = 0;
    reservation.reason = "node-lost";
    reservation.place_by = patience_of(reservation.request, now);
    save_reservation(tx, reservation);
    publish_reservation(context, tx, reservation, "reservation.unplaced", nodes);
    wake_after_commit(context, tx, kTimersChannel);
    wake_after_commit(context, tx, kPlacerChannel);
}

}  // namespace compute::capacity
