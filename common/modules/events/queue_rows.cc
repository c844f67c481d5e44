// Settling and claiming rows: statement by statement on SQLite, where one costs microseconds, all
// at once on PostgreSQL, where each costs a round trip.
#include <algorithm>

#include "modules/events/queue.h"

namespace compute::events {
namespace {

constexpr const char* kSettleOne =
    "update webhook_deliveries set state = $3, next_at = coalesce($4, next_at), done_at = $5, "
    "token = null,"
    " last_status = $6, last_error = $7, sent = case when $8 = 1 then 1 else sent end"
    " where seq = $1 and token = $2 and state = 0"
    " and exists (select 1 from webhook_lanes l where l.webhook = webhook_deliveries.webhook and "
    "l.token = $2)";
constexpr const char* kHandBackOne =
    "update webhook_deliveries set attempts = attempts - 1, token = null where seq = $1 and token "
    "= $2 and state = 0"
    " and exists (select 1 from webhook_lanes l where l.webhook = webhook_deliveries.webhook and "
    "l.token = $2)";
constexpr const char* kInsertAttempt =
    "insert into webhook_attempts (delivery, round, attempt, started_at, ended_at, outcome, "
    "status, error, detail, address,"
    " phases) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (delivery, round, "
    "attempt) do nothing";

// $1 token; then one list per column.
constexpr const char* kSettleMany =
    "with r as materialized (select * from unnest($2::bigint[], $3::bigint[], $4::bigint[], "
    "$5::bigint[], $6::bigint[],"
    " $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], "
    "$13::bigint[], $14::text[],"
    " $15::text[], $16::text[]) as r(seq, webhook, state, next_at, status, error, sent, round, "
    "attempt, started, ended,"
    " outcome, detail, address, phases)),"
    " u as (update webhook_deliveries d set state = r.state, next_at = case when r.next_at < 0 "
    "then d.next_at else r.next_at end,"
    " done_at = case when r.state = 0 then null else r.ended end, token = null,"
    " last_status = nullif(r.status, -1), last_error = r.error, sent = case when r.sent = 1 then 1 "
    "else d.sent end"
    " from r join webhook_lanes l on l.webhook = r.webhook and l.token = $1"
    " where d.seq = r.seq and d.token = $1 and d.state = 0 returning d.seq)"
    " insert into webhook_attempts (delivery, round, attempt, started_at, ended_at, outcome, "
    "status, error, detail, address,"
    " phases) select r.seq, r.round, r.attempt, r.started, r.ended, r.outcome, nullif(r.status, "
    "-1), r.error,"
    " nullif(r.detail, ''), nullif(r.address, ''), r.phases from r join u on u.seq = r.seq"
    " on conflict (delivery, round, attempt) do nothing";
constexpr const char* kHandBackMany =
    "update webhook_deliveries d set attempts = attempts - 1, token = null where d.seq = "
    "any($2::bigint[]) and d.token = $1"
    " and d.state = 0 and exists (select 1 from webhook_lanes l where l.webhook = d.webhook and "
    "l.token = $1)";

constexpr const char* kClaimOne =
    "select d.seq, d.webhook, d.event, d.id, b.type, b.body, d.attempts + 1, d.round, d.next_at "
    "from webhook_deliveries d"
    " join webhook_bodies b on b.event = d.event where d.webhook = $1 and d.state = 0 and "
    "d.next_at <= $2"
    " and (d.next_at, d.seq) > ($3, $4) and exists (select 1 from webhook_lanes l where l.webhook "
    "= $1 and l.token = $6)"
    " order by d.next_at, d.seq limit $5";
constexpr const char* kTakeRows =
    "update webhook_deliveries set token = $2, attempts = attempts + 1 where seq in (select value "
    "from json_each($1))";
// $1 token, $2 to $5 the lanes, $6 now, $7 limit. The update looks at state again: a row that was
// settled or cancelled while this statement began is passed over.
constexpr const char* kClaimMany =
    "with c as materialized (select x.seq from unnest($2::bigint[], $3::bigint[], $4::bigint[], "
    "$5::bigint[])"
    " with ordinality as n(webhook, room, next_at, seq, place) join webhook_lanes l on l.webhook = "
    "n.webhook and l.token = $1"
    " cross join lateral (select y.seq from webhook_deliveries y where y.webhook = n.webhook and "
    "y.state = 0"
    " and y.next_at <= $6 and (y.next_at, y.seq) > (n.next_at, n.seq) order by y.next_at, y.seq "
    "limit n.room) x"
    " limit $7)"
    " update webhook_deliveries d set token = $1, attempts = d.attempts + 1 from c, webhook_bodies "
    "b"
    " where d.seq = c.seq and d.state = 0 and b.event = d.event"
    " returning d.seq, d.webhook, d.event, d.id, b.type, b.body, d.attempts, d.round, d.next_at";

ClaimedRow claimed_from(const store::Row& row) {
    ClaimedRow claimed;
    claimed.seq = row.get_int(0);
    claimed.webhook = row.get_int(1);
    claimed.event = row.get_int(2);
    claimed.id = row.get_text(3);
    claimed.type = row.get_text(4);
    claimed.body = row.get_text(5);
    claimed.attempt = static_cast<int>(row.get_int(6));
    claimed.round = static_cast<int>(row.get_int(7));
    claimed.next_at = row.get_int(8);
    return claimed;
}

store::Param text_or_null(const std::string& text) {
    return text.empty() ? store::Param(nullptr) : store::Param(text);
}

}  // namespace

void Queue::settle_one_by_one(const std::vector<Settlement>& settlements) {
    for (const Settlement& s : settlements) {
        if (s.is_handed_back) {
            tx_.execute(kHandBackOne, {s.seq, token_});
            continue;
        }
        const bool is_done = s.state != DeliveryState::Pending;
        const auto changed = tx_.execute(
            kSettleOne,
            {s.seq,
             token_,
             static_cast<int>(s.state),
             s.next_at,
             is_done ? std::optional(s.ended_at) : std::nullopt,
             s.status,
             s.error,
             s.was_sent}
        );
        if (changed > 0) {
            tx_.execute(
                kInsertAttempt,
                {s.seq,
                 s.round,
                 s.attempt,
                 s.started_at,
                 s.ended_at,
                 s.outcome,
                 s.status,
                 s.error,
                 text_or_null(s.detail),
                 text_or_null(s.address),
                 s.phases}
            );
        }
    }
}

void Queue::settle_at_once(const std::vector<Settlement>& settlements) {
    store::IntList handed_back;
    std::array<store::IntList, 10>
        numbers;  // seq webhook state next_at status sent round attempt started ended
    store::IntList outcomes;
    store::TextList errors;
    store::TextList details;
    store::TextList addresses;
    store::TextList phases;
    for (const Settlement& s : settlements) {
        if (s.is_handed_back) {
            handed_back.push_back(s.seq);
            continue;
        }
        const std::array<std::int64_t, 10> row = {
            s.seq,
            s.webhook,
            static_cast<std::int64_t>(s.state),
            s.next_at.value_or(-1),
            s.status.value_or(-1),
            s.was_sent ? 1 : 0,
            s.round,
            s.attempt,
            s.started_at,
            s.ended_at,
        };
        for (std::size_t i = 0; i < row.size(); ++i) {
            numbers[i].push_back(row[i]);
        }
        outcomes.push_back(s.outcome);
        errors.push_back(s.error);
        details.emplace_back(s.detail);
        addresses.emplace_back(s.address);
        phases.emplace_back(s.phases);
    }
    if (!outcomes.empty()) {
        auto& n = numbers;
        tx_.defer(
            kSettleMany,
            {token_,
             std::move(n[0]),
             std::move(n[1]),
             std::move(n[2]),
             std::move(n[3]),
             std::move(n[4]),
             std::move(errors),
             std::move(n[5]),
             std::move(n[6]),
             std::move(n[7]),
             std::move(n[8]),
             std::move(n[9]),
             std::move(outcomes),
             std::move(details),
             std::move(addresses),
             std::move(phases)}
        );
    }
    if (!handed_back.empty()) {
        tx_.defer(kHandBackMany, {token_, std::move(handed_back)});
    }
}

std::vector<ClaimedRow> Queue::claim_one_by_one(
    const std::vector<ClaimLane>& lanes, EpochMs now, int limit
) {
    std::vector<ClaimedRow> rows;
    store::IntList taken;
    for (const ClaimLane& lane : lanes) {
        const int room = std::min(lane.room, limit - static_cast<int>(rows.size()));
        if (room <= 0) {
            break;
        }
        for (const store::Row& row : tx_.query(
                 kClaimOne, {lane.webhook, now, lane.after_next_at, lane.after_seq, room, token_}
             )) {
            rows.push_back(claimed_from(row));
            taken.push_back(rows.back().seq);
        }
    }
    if (!taken.empty()) {
        tx_.execute(kTakeRows, {std::move(taken), token_});
    }
    return rows;
}

std::vector<ClaimedRow> Queue::claim_at_once(
    const std::vector<ClaimLane>& lanes, EpochMs now, int limit
) {
    store::IntList webhooks;
    store::IntList rooms;
    store::IntList next_ats;
    store::IntList seqs;
    for (const ClaimLane& lane : lanes) {
        webhooks.push_back(lane.webhook);
        rooms.push_back(lane.room);
        next_ats.push_back(lane.after_next_at);
        seqs.push_back(lane.after_seq);
    }
    std::vector<ClaimedRow> rows;
    for (const store::Row& row : tx_.query(
             kClaimMany,
             {token_,
              std::move(webhooks),
              std::move(rooms),
              std::move(next_ats),
              std::move(seqs),
              now,
              limit}
         )) {
        rows.push_back(claimed_from(row));
    }
    // RETURNING has no order.
    std::sort(rows.begin(), rows.end(), [](const ClaimedRow& a, const ClaimedRow& b) {
        if (a.webhook != b.webhook) {
            return a.webhook < b.webhook;
        }
        return a.next_at != b.next_at ? a.next_at < b.next_at : a.seq < b.seq;
    });
    return rows;
}

}  // namespace compute::events
