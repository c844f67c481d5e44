// The steps of a reservation's life that several callers take: each writes the row, the bookings,
// what was spent, the projection and the event, in the caller's transaction. Nothing here decides
// whether the step is due.
//
// If the process dies before the commit the step did not happen; behind it, only hints are lost:
// the wake-ups, which the reconcilers' intervals make up for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "method/context.h"
#include "modules/capacity/placing.h"
#include "modules/capacity/reservation.h"

namespace compute::capacity {

// Channels of the reconcilers.
inline constexpr const char* kPlacerChannel = "capacity_placer";  // room may have come free
inline constexpr const char* kTimersChannel = "capacity_timers";  // a row has an earlier timer

void wake_after_commit(const method::Context& context, store::Transaction& tx, const char* channel);

// Placed in `window`, with the bookings that are written already.
void become_placed(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const Window& window,
    const std::vector<Booking>& bookings
);
// Allowed, and waiting for room.
void become_pending(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const std::optional<Explanation>& explanation
);
void become_active(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
);
void become_ended(const method::Context& context, store::Transaction& tx, Reservation& reservation);
void become_failed(
    const method::Context& context,
    store::Transaction& tx,
    Reservation& reservation,
    const std::string& reason
);
// From pending, placed or active. What is under way keeps its atoms for the cleanup time.
void become_released(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
);
// From placed back into the queue, at its old turn: a node was lost and nothing replaces it.
void become_unplaced(
    const method::Context& context, store::Transaction& tx, Reservation& reservation
);

// What is spent when [from, to) is booked, on each UTC day of it; `sign` -1 gives it back.
void spend(
    store::Transaction& tx, const Reservation& reservation, EpochMs from, EpochMs to, int sign
);

// Takes a staged extend back: row and pending attributes. Does not save the row.
void clear_staged(const method::Context& context, store::Transaction& tx, Reservation& reservation);

}  // namespace compute::capacity
