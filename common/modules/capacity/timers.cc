#include "modules/capacity/timers.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "modules/capacity/extend_rows.h"
#include "modules/capacity/reservation_changes.h"
#include "modules/capacity/reservation_rows.h"

namespace compute::capacity {
namespace {

using std::chrono::milliseconds;

constexpr int kBatch = 64;
constexpr milliseconds kInterval{1'000};
constexpr EpochMs kPostponeMs = 60'000;

constexpr store::Sql kPostpone(
    "update reservations set next_timer_at = $3 where tenant_id = $1 and id = $2"
);

// One step; false when nothing is due.
bool step(
    const method::Context& context, store::Transaction& tx, Reservation& reservation, EpochMs now
) {
    if (reservation.extending && reservation.extending->staged_at + kStagedLifeMs <= now) {
        clear_staged(context, tx, reservation);
        save_reservation(tx, reservation);
        return true;
    }
    const auto due = next_timer(reservation);
    if (!due || *due > now) {
        return false;
    }
    switch (reservation.state) {
        case ReservationState::Pending:
            become_failed(context, tx, reservation, "not placed in time");
            return true;
        case ReservationState::Placed:
            become_active(context, tx, reservation);
            return true;
        case ReservationState::Active:
            become_ended(context, tx, reservation);
            return true;
        case ReservationState::Draft:
        case ReservationState::AwaitingConfirmation:
        case ReservationState::Denied:
            if (remove_reservation(tx, reservation)) {
                context.authz_remove(tx, {kReservationType, reservation.id.str()});
            }
            return false;
        case ReservationState::Ended:
        case ReservationState::Released:
        case ReservationState::Failed:
            return false;
    }
    return false;
}

void fire(
    const method::Context& context, store::Transaction& tx, const ReservationRef& ref, EpochMs now
) {
    auto reservation = find_reservation_to_change(tx, ref.tenant_id, ref.id);
    while (reservation && step(context, tx, *reservation, now)) {
    }
}

// A row that cannot be fired is put off, so that it does not hold up the rest.
void fire_alone(const method::Runtime& runtime, const ReservationRef& ref, EpochMs now) {
    try {
        runtime.database.write(
            [&](store::Transaction& tx) { fire(method::Context(runtime), tx, ref, now); },
            store::Purpose::Background
        );
    } catch (const ComputeError& error) {
        if (error_info(error.code()).is_retryable) {
            throw;
        }
        runtime.log.error(
            "reservation.timer-failed",
            {{"reservation", ref.id.str()}, {"error", error.message() + " " + error.log_detail()}}
        );
        runtime.database.write(
            [&](store::Transaction& tx) {
                tx.execute(kPostpone, {ref.tenant_id, ref.id, now + kPostponeMs});
            },
            store::Purpose::Background
        );
    }
}

// Returns how many were due. All of a batch in one transaction; if one of them fails, one by one.
std::size_t fire_batch(const method::Runtime& runtime, EpochMs now) {
    std::vector<ReservationRef> due;
    try {
        runtime.database.write(
            [&](store::Transaction& tx) {
                due = claim_due(tx, now, kBatch);
                for (const ReservationRef& ref : due) {
                    fire(method::Context(runtime), tx, ref, now);
                }
                fail_point("reservation.timers");
            },
            store::Purpose::Background
        );
    } catch (const ComputeError& error) {
        if (error_info(error.code()).is_retryable) {
            throw;
        }
        for (const ReservationRef& ref : due) {
            fire_alone(runtime, ref, now);
        }
    }
    return due.size();
}

struct Next {
    std::optional<EpochMs> timer;
    std::optional<EpochMs> extend;
};
Next next_due(const method::Runtime& runtime) {
    return runtime.database.read(
        [](store::Transaction& tx) {
            return Next{.timer = first_timer(tx), .extend = first_extend_expiry(tx)};
        },
        store::Purpose::Background
    );
}

std::optional<milliseconds> run(const method::Runtime& runtime) {
    const EpochMs now = runtime.clock.now_ms();
    const Next next = next_due(runtime);
    if (next.extend && *next.extend <= now) {
        runtime.database.write(
            [&](store::Transaction& tx) { remove_expired_extends(tx, now); },
            store::Purpose::Background
        );
    }
    if (next.timer && *next.timer <= now) {
        fire_batch(runtime, now);
        return milliseconds(0);  // look again: there may be more, or the next is near
    }
    if (!next.timer) {
        return std::nullopt;
    }
    return std::min(kInterval, milliseconds(*next.timer - now));
}

}  // namespace

method::Reconciler timers_reconciler() {
    return {
        .name = "capacity.timers", .interval = kInterval, .wake_on = {kTimersChannel}, .run = run};
}

}  // namespace compute::capacity
