#include "modules/events/checks.h"
#include "modules/events/fanout.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

using Samples = std::vector<std::pair<std::map<std::string, std::string>, double>>;

// Dead rows have a partial index of their own; pending ones are counted up to a bound.
constexpr const char* kQueue =
    "select (select count(*) from (select 1 from webhook_deliveries where state = 0 limit 100000) "
    "p),"
    " (select count(*) from (select 1 from webhook_deliveries where state = 2 limit 100000) d)";
constexpr const char* kCursorAge = "select min(updated_at) from event_cursors";
constexpr const char* kCursor = "select txid, seq from event_cursors where name = $1";
// One probe of the partial index per webhook.
constexpr const char* kOldestDue =
    "select min((select min(d.next_at) from webhook_deliveries d where d.webhook = w.num and "
    "d.state = 0)) from webhooks w";

Samples queue(const method::Runtime& runtime) {
    const store::Row row = runtime.database.query(kQueue, {}, store::Purpose::Background).at(0);
    return {
        {{{"state", "pending"}}, static_cast<double>(row.get_int(0))},
        {{{"state", "dead"}}, static_cast<double>(row.get_int(1))},
    };
}

// How long ago `since` was, in seconds; 0 for the future and for nothing.
double age_seconds(const std::optional<EpochMs>& since, const method::Runtime& runtime) {
    const EpochMs now = runtime.clock.now_ms();
    return since && *since < now ? static_cast<double>(now - *since) / 1000.0 : 0.0;
}

Samples oldest_due(const method::Runtime& runtime) {
    const auto due =
        runtime.database.query(kOldestDue, {}, store::Purpose::Background).at(0).find_int(0);
    return {{{}, age_seconds(due, runtime)}};
}

Samples fanout_lag(const method::Runtime& runtime) {
    const auto oldest = runtime.database.read(
        [](store::Transaction& tx) -> std::optional<EpochMs> {
            const auto cursor = tx.find_row(kCursor, {kFanoutCursor});
            if (!cursor) {
                return std::nullopt;
            }
            const auto waiting =
                outbox::read_after(tx, {cursor->get_int(0), cursor->get_int(1)}, 1);
            return waiting.empty() ? std::nullopt : std::optional(waiting.front().time);
        },
        store::Purpose::Background
    );
    return {{{}, age_seconds(oldest, runtime)}};
}

Samples cursor_moved(const method::Runtime& runtime) {
    const auto moved =
        runtime.database.query(kCursorAge, {}, store::Purpose::Background).at(0).find_int(0);
    if (!moved) {
        return {};
    }
    return {{{}, static_cast<double>(*moved) / 1000.0}};
}

}  // namespace

std::vector<method::Gauge> gauges(std::shared_ptr<const EngineCounters> counters) {
    return {
        {"better_compute_webhook_queue",
         "Deliveries in the database that are pending or dead, counted up to 100,000",
         queue},
        {"better_compute_webhook_oldest_due_seconds",
         "How late the delivery is that has been due longest; 0 when none is due",
         oldest_due},
        {"better_compute_outbox_lag_seconds",
         "Age of the oldest event that is not fanned out; 0 when there is none",
         fanout_lag},
        {"better_compute_webhook_fanout_moved_seconds",
         "When the fan-out cursor last moved, seconds since 1970",
         cursor_moved},
        {"better_compute_webhook_attempts_total",
         "Attempts of this process since its start, by result",
         [counters](const method::Runtime&) -> Samples {
             const auto value = [](const std::atomic<std::uint64_t>& count) {
                 return static_cast<double>(count.load(std::memory_order_relaxed));
             };
             return {
                 {{{"result", "delivered"}}, value(counters->delivered)},
                 {{{"result", "failed"}}, value(counters->failed)},
                 {{{"result", "dead"}}, value(counters->dead)},
                 {{{"result", "handed_back"}}, value(counters->handed_back)},
             };
         }},
        {"better_compute_webhook_lanes",
         "Webhooks that this process holds a lease for",
         [counters](const method::Runtime&) -> Samples {
             return {
                 {{}, static_cast<double>(counters->lanes_held.load(std::memory_order_relaxed))}};
         }},
        {"better_compute_webhook_claims_total",
         "Deliveries that this process claimed since its start",
         [counters](const method::Runtime&) -> Samples {
             return {{{}, static_cast<double>(counters->claimed.load(std::memory_order_relaxed))}};
         }},
        {"better_compute_webhook_leases_lost_total",
         "Leases of this process that another one took over, or a pause ended",
         [counters](const method::Runtime&) -> Samples {
             return {{{}, static_cast<double>(counters->refused.load(std::memory_order_relaxed))}};
         }},
    };
}

}  // namespace compute::events
