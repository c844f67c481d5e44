#include "modules/events/history.h"

#include <algorithm>

namespace compute::events {
namespace {

constexpr const char* kNumbersOfTenant =
    "select num from webhooks where tenant_id = $1 order by num";

// $1 webhooks, $2 event and $3 webhook of the place before, $4 limit, $5 state. One index range per
// webhook, then the newest of all.
#define COMPUTE_HISTORY_POSTGRES(CONDITION)                                               \
    "select " COMPUTE_DELIVERY_COLUMNS                                                    \
    " from unnest($1::bigint[]) as n(webhook) join webhooks w on w.num = n.webhook"       \
    " cross join lateral (select * from webhook_deliveries x where x.webhook = n.webhook" \
    " and (x.event < $2 or (x.event = $2 and x.webhook < $3)) " CONDITION                 \
    " order by x.event desc limit $4) d"                                                  \
    " join webhook_bodies b on b.event = d.event order by d.event desc, d.webhook desc limit $4"
constexpr const char* kHistoryAll = COMPUTE_HISTORY_POSTGRES("");
// The state is text of the statement, so that a partial index may serve it.
constexpr const char* kHistoryPending = COMPUTE_HISTORY_POSTGRES("and x.state = 0");
constexpr const char* kHistoryDelivered = COMPUTE_HISTORY_POSTGRES("and x.state = 1");
constexpr const char* kHistoryDead = COMPUTE_HISTORY_POSTGRES("and x.state = 2");
constexpr const char* kHistoryCancelled = COMPUTE_HISTORY_POSTGRES("and x.state = 3");

// SQLite has no lateral join: one statement per webhook.
#define COMPUTE_HISTORY_SQLITE(CONDITION)                                                       \
    "select " COMPUTE_DELIVERY_COLUMNS                                                          \
    " from webhook_deliveries d join webhooks w on w.num = d.webhook join webhook_bodies b on " \
    "b.event = d.event"                                                                         \
    " where d.webhook = $1 and (d.event < $2 or (d.event = $2 and d.webhook < $3)) " CONDITION  \
    " order by d.event desc limit $4"
constexpr const char* kOneAll = COMPUTE_HISTORY_SQLITE("");
constexpr const char* kOnePending = COMPUTE_HISTORY_SQLITE("and d.state = 0");
constexpr const char* kOneDelivered = COMPUTE_HISTORY_SQLITE("and d.state = 1");
constexpr const char* kOneDead = COMPUTE_HISTORY_SQLITE("and d.state = 2");
constexpr const char* kOneCancelled = COMPUTE_HISTORY_SQLITE("and d.state = 3");

store::Sql history_sql(std::optional<DeliveryState> state) {
    if (!state) {
        return {kOneAll, kHistoryAll};
    }
    switch (*state) {
        case DeliveryState::Pending:
            return {kOnePending, kHistoryPending};
        case DeliveryState::Delivered:
            return {kOneDelivered, kHistoryDelivered};
        case DeliveryState::Dead:
            return {kOneDead, kHistoryDead};
        case DeliveryState::Cancelled:
            return {kOneCancelled, kHistoryCancelled};
    }
    throw internal_error("unknown delivery state");
}

constexpr store::Sql kFindDelivery(
    "select " COMPUTE_DELIVERY_COLUMNS
    ", w.active from webhook_deliveries d join webhooks w on w.num = d.webhook"
    " join webhook_bodies b on b.event = d.event where d.id = $2 and w.tenant_id = $1"
);
// Keeps a pause that comes at the same time behind us: it then cancels what we queue.
constexpr store::Sql kFindDeliveryLocked(
    "select " COMPUTE_DELIVERY_COLUMNS
    ", w.active from webhook_deliveries d join webhooks w on w.num = d.webhook"
    " join webhook_bodies b on b.event = d.event where d.id = $2 and w.tenant_id = $1",
    "select " COMPUTE_DELIVERY_COLUMNS
    ", w.active from webhook_deliveries d join webhooks w on w.num = d.webhook"
    " join webhook_bodies b on b.event = d.event where d.id = $2 and w.tenant_id = $1 for update "
    "of w"
);
constexpr std::size_t kActiveColumn = 15;

constexpr const char* kRedeliver =
    "update webhook_deliveries set state = 0, attempts = 0, round = round + 1, next_at = $2, "
    "done_at = null, token = null,"
    " sent = 0, last_status = null, last_error = null where seq = $1 and state <> 0";

constexpr const char* kDeleteOfWebhook =
    "delete from webhook_deliveries where seq in (select seq from webhook_deliveries where webhook "
    "= $1 order by event limit $2)"
    " returning seq, event";
constexpr store::Sql kDeleteAttempts(
    "delete from webhook_attempts where delivery in (select value from json_each($1))",
    "delete from webhook_attempts where delivery = any($1::bigint[])"
);
constexpr store::Sql kDeleteBodies(
    "delete from webhook_bodies where event in (select value from json_each($1)) and not exists "
    "(select 1 from webhooks w"
    " join webhook_deliveries d on d.webhook = w.num and d.event = webhook_bodies.event"
    " where w.tenant_id = webhook_bodies.tenant_id)",
    "delete from webhook_bodies b where b.event = any($1::bigint[]) and not exists (select 1 from "
    "webhooks w"
    " join webhook_deliveries d on d.webhook = w.num and d.event = b.event where w.tenant_id = "
    "b.tenant_id)"
);
constexpr const char* kNoteLeftover =
    "insert into webhook_leftovers (webhook, tenant_id) values ($1, $2) on conflict (webhook) do "
    "nothing";

}  // namespace

std::vector<Delivery> read_history(store::Transaction& tx, const HistoryQuery& query) {
    store::IntList webhooks;
    if (query.webhook_id) {
        webhooks.push_back(get_webhook(tx, query.tenant_id, *query.webhook_id).num);
    } else {
        for (const store::Row& row : tx.query(kNumbersOfTenant, {query.tenant_id})) {
            webhooks.push_back(row.get_int(0));
        }
    }
    const HistoryPlace before = query.before.value_or(HistoryPlace{kNever, 0});
    const store::Sql sql = history_sql(query.state);
    std::vector<Delivery> found;
    const auto take = [&](const store::Rows& rows) {
        for (const store::Row& row : rows) {
            found.push_back(delivery_from(row));
        }
    };
    if (tx.engine() == store::Engine::Postgres) {
        take(tx.query(sql, {webhooks, before.event, before.webhook, query.limit}));
        return found;
    }
    for (const std::int64_t webhook : webhooks) {
        take(tx.query(sql, {webhook, before.event, before.webhook, query.limit}));
    }
    std::sort(found.begin(), found.end(), [](const Delivery& a, const Delivery& b) {
        return a.event != b.event ? a.event > b.event : a.webhook > b.webhook;
    });
    if (found.size() > static_cast<std::size_t>(query.limit)) {
        found.resize(static_cast<std::size_t>(query.limit));
    }
    return found;
}

std::optional<Delivery> find_delivery(
    store::Transaction& tx, const TenantId& tenant_id, const std::string& delivery_id
) {
    if (const auto row = tx.find_row(kFindDelivery, {tenant_id, delivery_id})) {
        return delivery_from(*row);
    }
    return std::nullopt;
}

Delivery redeliver_one(
    store::Transaction& tx, const TenantId& tenant_id, const std::string& delivery_id, EpochMs now
) {
    const auto row = tx.find_row(kFindDeliveryLocked, {tenant_id, delivery_id});
    if (!row || !row->get_bool(kActiveColumn)) {
        throw delivery_not_found();
    }
    Delivery delivery = delivery_from(*row);
    touch_lane(tx, delivery.webhook, now);
    // Two redeliveries at once: the second finds it pending.
    if (tx.execute(kRedeliver, {delivery.seq, now}) == 0) {
        throw ComputeError(ErrorCode::InvalidState, "delivery: is pending already");
    }
    delivery.state = DeliveryState::Pending;
    delivery.attempts = 0;
    delivery.next_at = now;
    delivery.done_at.reset();
    delivery.last_status.reset();
    delivery.last_error.reset();
    return delivery;
}

void delete_history(store::Transaction& tx, std::int64_t webhook, const TenantId& tenant_id) {
    store::IntList deliveries;
    store::IntList events;
    for (const store::Row& row : tx.query(kDeleteOfWebhook, {webhook, kPruneRows})) {
        deliveries.push_back(row.get_int(0));
        events.push_back(row.get_int(1));
    }
    if (deliveries.size() == kPruneRows) {
        tx.execute(kNoteLeftover, {webhook, tenant_id});
    }
    tx.execute(kDeleteAttempts, {std::move(deliveries)});
    delete_unused_bodies(tx, events);
}

void delete_unused_bodies(store::Transaction& tx, const store::IntList& events) {
    if (!events.empty()) {
        tx.execute(kDeleteBodies, {events});
    }
}

}  // namespace compute::events
