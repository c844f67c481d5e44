#include "modules/events/queue.h"

namespace compute::events {
namespace {

constexpr const char* kLockLanes =
    "select webhook from webhook_lanes where webhook = any($1::bigint[]) order by webhook for "
    "update";
constexpr store::Sql kMarkSent(
    "update webhook_deliveries set sent = 1 where seq in (select value from json_each($1)) and "
    "token = $2 and state = 0",
    "update webhook_deliveries set sent = 1 where seq = any($1::bigint[]) and token = $2 and state "
    "= 0"
);
constexpr store::Sql kRenew(
    "update webhook_lanes set due_at = $3 where webhook in (select value from json_each($1)) and "
    "token = $2"
    " returning webhook",
    "update webhook_lanes set due_at = $3 where webhook = any($1::bigint[]) and token = $2 "
    "returning webhook"
);
constexpr const char* kNextDue =
    "select (select due_at from webhook_lanes where slow = 0 order by due_at limit 1),"
    " (select due_at from webhook_lanes where slow = 1 order by due_at limit 1),"
    " (select due_at from webhook_lanes where slow = 2 order by due_at limit 1)";

#define COMPUTE_LANE_WEBHOOK                                                               \
    "w.num is not null, coalesce(w.active, 0), w.id, w.url, w.secret, w.previous_secret, " \
    "w.previous_expires_at, w.revision"
// A statement is one text per class on PostgreSQL too: the index on (slow, due_at) serves `slow =
// $n` well.
constexpr const char* kPickSqlite =
    "select l.webhook, l.token is not null, l.careful, " COMPUTE_LANE_WEBHOOK
    " from webhook_lanes l left join webhooks w on w.num = l.webhook where l.slow = $1 and "
    "l.due_at <= $2"
    " order by l.due_at limit $3";
constexpr const char* kTakeSqlite =
    "update webhook_lanes set careful = case when token is null then careful else 1 end, token = "
    "$2, due_at = $3"
    " where webhook in (select value from json_each($1))";
constexpr const char* kPickPostgres =
    "with p as materialized (select webhook, token is not null as held, careful from webhook_lanes"
    " where slow = $1 and due_at <= $2 order by due_at limit $3 for update skip locked),"
    " t as (update webhook_lanes l set careful = case when p.held then 1 else p.careful end, token "
    "= $4, due_at = $5"
    " from p where l.webhook = p.webhook returning l.webhook)"
    " select p.webhook, p.held::int, p.careful, (w.num is not null)::int, coalesce(w.active, 0), "
    "w.id, w.url, w.secret,"
    " w.previous_secret, w.previous_expires_at, w.revision"
    " from p join t on t.webhook = p.webhook left join webhooks w on w.num = p.webhook";

// Nobody knows whether these were sent before their holder was gone.
constexpr store::Sql kReapAttempts(
    "insert into webhook_attempts (delivery, round, attempt, started_at, ended_at, outcome, error)"
    " select seq, round, attempts, $2, $2, 1, 'lease expired' from webhook_deliveries"
    " where webhook in (select value from json_each($1)) and state = 0 and token is not null"
    " on conflict (delivery, round, attempt) do nothing",
    "insert into webhook_attempts (delivery, round, attempt, started_at, ended_at, outcome, error)"
    " select seq, round, attempts, $2, $2, 1, 'lease expired' from webhook_deliveries"
    " where webhook = any($1::bigint[]) and state = 0 and token is not null"
    " on conflict (delivery, round, attempt) do nothing"
);
constexpr store::Sql kReapDead(
    "update webhook_deliveries set state = 2, done_at = $2, token = null, last_error = 'lease "
    "expired'"
    " where webhook in (select value from json_each($1)) and state = 0 and token is not null and "
    "attempts >= $3 and sent = 1",
    "update webhook_deliveries set state = 2, done_at = $2, token = null, last_error = 'lease "
    "expired'"
    " where webhook = any($1::bigint[]) and state = 0 and token is not null and attempts >= $3 and "
    "sent = 1"
);
constexpr store::Sql kReapUnsent(
    "update webhook_deliveries set sent = 2, token = null, attempts = $3 - 1, next_at = $2,"
    " last_error = 'lease expired before anything was sent'"
    " where webhook in (select value from json_each($1)) and state = 0 and token is not null and "
    "attempts >= $3 and sent <> 1",
    "update webhook_deliveries set sent = 2, token = null, attempts = $3 - 1, next_at = $2,"
    " last_error = 'lease expired before anything was sent'"
    " where webhook = any($1::bigint[]) and state = 0 and token is not null and attempts >= $3 and "
    "sent <> 1"
);

constexpr const char* kReleaseOne =
    "update webhook_lanes set token = null, careful = $3, slow = $4, due_at = coalesce("
    "(select max(d.next_at, $5, $6) from webhook_deliveries d where d.webhook = $1 and d.state = 0"
    " order by d.next_at limit 1), $7) where webhook = $1 and token = $2";
constexpr const char* kReleaseMany =
    "update webhook_lanes l set token = null, careful = r.careful, slow = r.slow, due_at = "
    "coalesce("
    "(select greatest(d.next_at, r.not_before, $6) from webhook_deliveries d where d.webhook = "
    "l.webhook and d.state = 0"
    " order by d.next_at limit 1), $7)"
    " from unnest($1::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) as r(webhook, careful, "
    "slow, not_before)"
    " where l.webhook = r.webhook and l.token = $2";
constexpr store::Sql kCancelPending(
    "update webhook_deliveries set state = 3, done_at = $2, token = null"
    " where webhook in (select value from json_each($1)) and state = 0",
    "update webhook_deliveries set state = 3, done_at = $2, token = null where webhook = "
    "any($1::bigint[]) and state = 0"
);
constexpr store::Sql kForgetLanes(
    "delete from webhook_lanes where webhook in (select value from json_each($1)) and token = $2",
    "delete from webhook_lanes where webhook = any($1::bigint[]) and token = $2"
);
constexpr const char* kNoteUnreadable =
    "update webhook_deliveries set last_error = $2 where seq in (select seq from webhook_deliveries"
    " where webhook = $1 and state = 0 order by next_at limit 500) and coalesce(last_error, '') <> "
    "$2";
constexpr store::Sql kReadWebhooks(
    "select w.num, 0, 0, 1, w.active, w.id, w.url, w.secret, w.previous_secret, "
    "w.previous_expires_at, w.revision"
    " from webhooks w where w.num in (select value from json_each($1))",
    "select w.num, 0, 0, 1, w.active, w.id, w.url, w.secret, w.previous_secret, "
    "w.previous_expires_at, w.revision"
    " from webhooks w where w.num = any($1::bigint[])"
);

LaneRow lane_from(const store::Row& row) {
    LaneRow lane;
    lane.webhook = row.get_int(0);
    lane.had_holder = row.get_bool(1);
    lane.is_careful = row.get_bool(2) || lane.had_holder;
    lane.is_known = row.get_bool(3);
    lane.is_active = row.get_bool(4);
    if (lane.is_known) {
        lane.id = row.get_text(5);
        lane.url = row.get_text(6);
        lane.secret = row.get_text(7);
        lane.previous_secret = row.find_text(8);
        lane.previous_expires_at = row.find_int(9);
        lane.revision = row.get_int(10);
    }
    return lane;
}

}  // namespace

void Queue::lock_lanes(store::IntList webhooks) {
    if (tx_.engine() == store::Engine::Postgres && !webhooks.empty()) {
        tx_.defer(kLockLanes, {std::move(webhooks)});
    }
}

void Queue::settle(const std::vector<Settlement>& settlements) {
    if (settlements.empty()) {
        return;
    }
    if (tx_.engine() == store::Engine::Sqlite) {
        settle_one_by_one(settlements);
    } else {
        settle_at_once(settlements);
    }
}

void Queue::mark_sent(const store::IntList& seqs) {
    if (!seqs.empty()) {
        tx_.defer(kMarkSent, {seqs, token_});
    }
}

store::IntList Queue::renew(const store::IntList& webhooks, EpochMs lease_until) {
    store::IntList ours;
    if (!webhooks.empty()) {
        for (const store::Row& row : tx_.query(kRenew, {webhooks, token_, lease_until})) {
            ours.push_back(row.get_int(0));
        }
    }
    return ours;
}

std::array<EpochMs, kLaneClasses> Queue::next_due() {
    const store::Row row = tx_.get_row(kNextDue);
    std::array<EpochMs, kLaneClasses> due{};
    for (std::size_t i = 0; i < kLaneClasses; ++i) {
        due[i] = row.find_int(i).value_or(kNever);
    }
    return due;
}

std::vector<LaneRow> Queue::pick(
    LaneClass lane_class, EpochMs now, EpochMs lease_until, int limit
) {
    std::vector<LaneRow> lanes;
    if (tx_.engine() == store::Engine::Postgres) {
        for (const store::Row& row : tx_.query(
                 kPickPostgres, {static_cast<int>(lane_class), now, limit, token_, lease_until}
             )) {
            lanes.push_back(lane_from(row));
        }
        return lanes;
    }
    store::IntList taken;
    for (const store::Row& row :
         tx_.query(kPickSqlite, {static_cast<int>(lane_class), now, limit})) {
        lanes.push_back(lane_from(row));
        taken.push_back(lanes.back().webhook);
    }
    if (!taken.empty()) {
        tx_.execute(kTakeSqlite, {std::move(taken), token_, lease_until});
    }
    return lanes;
}

void Queue::reap(const store::IntList& webhooks, EpochMs now, const QueueRules& rules) {
    if (!webhooks.empty()) {
        tx_.defer(kReapAttempts, {webhooks, now});
        tx_.defer(kReapDead, {webhooks, now, rules.max_attempts});
        tx_.defer(kReapUnsent, {webhooks, now + rules.last_backoff_ms, rules.max_attempts});
    }
}

std::vector<ClaimedRow> Queue::claim(const std::vector<ClaimLane>& lanes, EpochMs now, int limit) {
    if (lanes.empty() || limit <= 0) {
        return {};
    }
    return tx_.engine() == store::Engine::Sqlite ? claim_one_by_one(lanes, now, limit)
                                                 : claim_at_once(lanes, now, limit);
}

void Queue::release(const std::vector<Release>& releases, EpochMs now) {
    if (releases.empty()) {
        return;
    }
    if (tx_.engine() == store::Engine::Sqlite) {
        for (const Release& release : releases) {
            tx_.execute(
                kReleaseOne,
                {release.webhook,
                 token_,
                 release.is_careful,
                 static_cast<int>(release.lane_class),
                 release.not_before,
                 now,
                 kNever}
            );
        }
        return;
    }
    store::IntList webhooks;
    store::IntList careful;
    store::IntList slow;
    store::IntList not_before;
    for (const Release& release : releases) {
        webhooks.push_back(release.webhook);
        careful.push_back(release.is_careful ? 1 : 0);
        slow.push_back(static_cast<std::int64_t>(release.lane_class));
        not_before.push_back(release.not_before);
    }
    tx_.defer(
        kReleaseMany,
        {std::move(webhooks),
         token_,
         std::move(careful),
         std::move(slow),
         std::move(not_before),
         now,
         kNever}
    );
}

void Queue::cancel_pending(const store::IntList& webhooks, EpochMs now) {
    if (!webhooks.empty()) {
        tx_.defer(kCancelPending, {webhooks, now});
    }
}

void Queue::forget_lanes(const store::IntList& webhooks) {
    if (!webhooks.empty()) {
        tx_.defer(kForgetLanes, {webhooks, token_});
    }
}

void Queue::note_unreadable(std::int64_t webhook, const std::string& error) {
    tx_.defer(kNoteUnreadable, {webhook, error});
}

std::vector<LaneRow> Queue::read_webhooks(const store::IntList& webhooks) {
    std::vector<LaneRow> found;
    if (!webhooks.empty()) {
        for (const store::Row& row : tx_.query(kReadWebhooks, {webhooks})) {
            found.push_back(lane_from(row));
        }
    }
    return found;
}

}  // namespace compute::events
