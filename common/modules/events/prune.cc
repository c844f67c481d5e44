#include "modules/events/prune.h"

#include "core/fail_point.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

constexpr const char* kLeftover = "select webhook from webhook_leftovers order by webhook limit 1";
constexpr const char* kForgetLeftover =
    "delete from webhook_leftovers where webhook = $1 and not exists (select 1 from "
    "webhook_deliveries d where d.webhook = $1)";
constexpr const char* kDeleteLeftover =
    "delete from webhook_deliveries where seq in (select seq from webhook_deliveries where webhook "
    "= $1 order by event limit $2)"
    " returning seq, event";
// A row that is redelivered at the same moment is pending when the delete comes to it, and stays.
constexpr const char* kDeleteSettled =
    "delete from webhook_deliveries where state in (1, 3) and seq in (select seq from "
    "webhook_deliveries"
    " where state in (1, 3) and queued_at < $1 order by queued_at limit $2) returning seq, event";
constexpr const char* kDeleteDead =
    "delete from webhook_deliveries where state = 2 and seq in (select seq from webhook_deliveries"
    " where state = 2 and queued_at < $1 order by queued_at limit $2) returning seq, event";
constexpr store::Sql kDeleteAttempts(
    "delete from webhook_attempts where delivery in (select value from json_each($1))",
    "delete from webhook_attempts where delivery = any($1::bigint[])"
);
constexpr const char* kFirstCursor =
    "select txid, seq from event_cursors order by txid, seq limit 1";

EpochMs cutoff(EpochMs now, double days) {
    return now - static_cast<EpochMs>(days * static_cast<double>(kDayMs));
}

}  // namespace

int prune_webhook_deliveries(
    store::Database& database,
    const std::optional<config::Retention>& retention,
    EpochMs now,
    int limit
) {
    return database.write(
        [&](store::Transaction& tx) {
            store::IntList deliveries;
            store::IntList events;
            const auto room = [&] { return limit - static_cast<int>(deliveries.size()); };
            const auto take = [&](const store::Rows& rows) {
                for (const store::Row& row : rows) {
                    deliveries.push_back(row.get_int(0));
                    events.push_back(row.get_int(1));
                }
            };
            if (const auto leftover = tx.find_row(kLeftover)) {
                take(tx.query(kDeleteLeftover, {leftover->get_int(0), room()}));
                tx.execute(kForgetLeftover, {leftover->get_int(0)});
            }
            if (retention && room() > 0) {
                take(tx.query(kDeleteSettled, {cutoff(now, retention->delivered_days), room()}));
            }
            if (retention && room() > 0) {
                take(tx.query(kDeleteDead, {cutoff(now, retention->dead_days), room()}));
            }
            const int deleted = static_cast<int>(deliveries.size());
            if (deleted > 0) {
                fail_point("prune-before-attempts");
                tx.execute(kDeleteAttempts, {std::move(deliveries)});
                delete_unused_bodies(tx, events);
                fail_point("prune-before-commit");
            }
            return deleted;
        },
        store::Purpose::Background
    );
}

bool run_prune(const method::Runtime& runtime) {
    const EpochMs now = runtime.clock.now_ms();
    const int deliveries = prune_webhook_deliveries(
        runtime.database, runtime.config.events.retention, now, kPruneRows
    );
    // The two batches are apart: a process that dies here has pruned deliveries and keeps their
    // events until the next run, which is harmless, for the cursor is behind them.
    if (deliveries > 0) {
        fail_point("prune-after-commit");
    }
    const EpochMs before = cutoff(now, runtime.config.outbox_retention_days);
    const int events = runtime.database.write(
        [&](store::Transaction& tx) {
            const auto cursor = tx.find_row(kFirstCursor);
            if (!cursor) {
                return 0;  // nobody has passed anything
            }
            return static_cast<int>(
                outbox::prune(tx, before, {cursor->get_int(0), cursor->get_int(1)}, kPruneRows)
            );
        },
        store::Purpose::Background
    );
    return deliveries >= kPruneRows || events >= kPruneRows;
}

}  // namespace compute::events
