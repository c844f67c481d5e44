// The SQL of reservations. Every statement names the tenant, but for those that controllers use to
// find work of all tenants; they read ids and then go through the row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modules/capacity/reservation.h"

namespace compute::capacity {

[[nodiscard]] std::optional<Reservation> find_reservation(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
);
// The same; on PostgreSQL the row stays locked until the commit, so that the state read is the
// state changed.
[[nodiscard]] std::optional<Reservation> find_reservation_to_change(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
);
// NOT_FOUND in the same words for another tenant's reservation and for one that was never there.
[[nodiscard]] Reservation get_reservation(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
);
[[nodiscard]] Reservation get_reservation_to_change(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
);
[[nodiscard]] std::optional<ReservationId> find_alive_by_name(
    store::Transaction& tx, const TenantId& tenant, const std::string& name
);

// How many of the project wait or hold something.
[[nodiscard]] std::int64_t count_alive_in_project(
    store::Transaction& tx, const TenantId& tenant, const ProjectId& project
);

struct ReservationFilter {
    std::optional<ReservationState> state;  // absent: all but the undecided
    std::optional<PoolId> pool_id;
    std::optional<ProjectId> project_id;
    std::optional<EpochMs> from;  // overlaps [from, to)
    std::optional<EpochMs> to;
    std::optional<EpochMs> before_created;  // the page behind this (created, id)
    std::optional<std::string> before_id;
    std::int64_t limit = 50;
};
// Newest first.
[[nodiscard]] std::vector<Reservation> list_reservations(
    store::Transaction& tx, const TenantId& tenant, const ReservationFilter& filter
);

// False when the id is taken; then nothing was written.
[[nodiscard]] bool insert_reservation(store::Transaction& tx, const Reservation& reservation);
// Writes all that may change and version + 1, if the stored version still is
// `reservation.version`; then the member is raised too. False otherwise.
[[nodiscard]] bool update_reservation(store::Transaction& tx, Reservation& reservation);
// The same; CONFLICT concurrent-change instead of false.
void save_reservation(store::Transaction& tx, Reservation& reservation);
// For a row that this transaction has read to change: nobody else can have changed it, so nothing
// is waited for.
void save_locked_reservation(store::Transaction& tx, Reservation& reservation);
// Removes an undecided one under the same condition.
bool remove_reservation(store::Transaction& tx, const Reservation& reservation);

// Which rows need a look, whosever they are.
struct ReservationRef {
    TenantId tenant_id;
    ReservationId id;
    EpochMs due_at = 0;
};
// Rows whose timer is at or before `now`, the oldest first, at most `limit`. On PostgreSQL they are
// locked and those another process holds are left out.
[[nodiscard]] std::vector<ReservationRef> claim_due(store::Transaction& tx, EpochMs now, int limit);
// The next timer of all.
[[nodiscard]] std::optional<EpochMs> first_timer(store::Transaction& tx);

// The pending ones of a pool in the order of their turn, behind (queued_at, id) of `after`.
[[nodiscard]] std::vector<Reservation> pending_in(
    store::Transaction& tx, const PoolId& pool, const Reservation* after, int limit
);
[[nodiscard]] std::vector<PoolId> pools_with_pending(store::Transaction& tx);
// The latest turn of those that have been placed and are not over: pending ones with an earlier
// turn have been passed.
[[nodiscard]] std::optional<EpochMs> last_placed_turn(store::Transaction& tx, const PoolId& pool);
// What an attempt to place a pending one found; leaves its version alone, so that nobody who is
// about to change it is disturbed.
void note_attempt(
    store::Transaction& tx,
    const Reservation& reservation,
    const std::optional<std::string>& explanation,
    const std::optional<EpochMs>& skipped_at
);
// How many of the pool are before it, plus one.
[[nodiscard]] std::int64_t queue_position(store::Transaction& tx, const Reservation& reservation);

}  // namespace compute::capacity
