#include "modules/events/fanout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "core/json.h"
#include "modules/events/body.h"
#include "modules/events/model.h"
#include "modules/events/patterns.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

using outbox::Position;
using outbox::StoredEvent;

constexpr const char* kAnchor =
    "insert into event_cursors (name, txid, seq, anchored_at, updated_at) values ($1, $2, $3, $4, "
    "$4)"
    " on conflict (name) do nothing";
constexpr const char* kFindCursor = "select txid, seq from event_cursors where name = $1";
constexpr const char* kMoveCursor =
    "update event_cursors set txid = $4, seq = $5, updated_at = $6 where name = $1 and txid = $2 "
    "and seq = $3";
constexpr store::Sql kCandidates(
    "select num, tenant_id, id, patterns, visible_mark from webhooks where active = 1"
    " and tenant_id in (select value from json_each($1)) order by num",
    "select num, tenant_id, id, patterns, visible_mark from webhooks where active = 1"
    " and tenant_id = any($1::text[]) order by num"
);
constexpr store::Sql kLockLanes(
    "select 1",
    "select webhook from webhook_lanes where webhook = any($1::bigint[]) order by webhook for "
    "update"
);
constexpr store::Sql kTouchLanes(
    "update webhook_lanes set due_at = $2 where webhook in (select value from json_each($1)) and "
    "token is null and due_at > $2",
    "update webhook_lanes set due_at = $2 where webhook = any($1::bigint[]) and token is null and "
    "due_at > $2"
);
constexpr const char* kInsertBody =
    "insert into webhook_bodies (event_id, tenant_id, type, position, body) values ($1, $2, $3, "
    "$4, $5)"
    " on conflict (event_id) do nothing";
constexpr const char* kInsertBodies =
    "insert into webhook_bodies (event_id, tenant_id, type, position, body)"
    " select e.id, e.tenant, e.type, e.position, e.body"
    " from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality"
    " as e(id, tenant, type, position, body, n) order by e.n on conflict (event_id) do nothing";
// The join with the lanes leaves out webhooks that were deleted since they were read.
constexpr store::Sql kInsertDeliveries(
    "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at)"
    " select json_extract(j.value, '$[2]'), l.webhook, b.event, 0, $2, $2 from json_each($1) j"
    " join webhook_lanes l on l.webhook = json_extract(j.value, '$[0]')"
    " join webhook_bodies b on b.event_id = json_extract(j.value, '$[1]')"
    " where true order by j.key on conflict (webhook, event) do nothing",
    "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at)"
    " select x.id, l.webhook, b.event, 0, $4, $4"
    " from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality as x(webhook, event_id, "
    "id, n)"
    " join webhook_lanes l on l.webhook = x.webhook join webhook_bodies b on b.event_id = "
    "x.event_id"
    " order by x.n on conflict (webhook, event) do nothing"
);
constexpr const char* kSetAside =
    "insert into webhook_set_aside (event_id, tenant_id, type, position, reason, at) values ($1, "
    "$2, $3, $4, $5, $6)"
    " on conflict (event_id) do nothing";

struct Candidate {
    std::int64_t num = 0;
    const std::vector<std::string>* patterns = nullptr;
    std::string visible_mark;
};

struct Queued {
    std::int64_t webhook = 0;
    std::string event_id;
    std::string id;
};
struct SetAside {
    const StoredEvent* event = nullptr;
    std::string reason;
};

// What one batch comes to, made before the transaction that writes it.
struct Batch {
    Position from;
    std::vector<StoredEvent> events;
    std::unordered_map<std::string, std::vector<Candidate>> candidates;  // by tenant
    std::vector<const StoredEvent*>
        bodied;  // the events that someone wants, in order, and their bodies
    std::vector<std::string> bodies;
    std::vector<Queued> queue;
    std::vector<SetAside> set_aside;
};

std::optional<Position> find_cursor(store::Transaction& tx) {
    if (const auto row = tx.find_row(kFindCursor, {kFanoutCursor})) {
        return Position{row->get_int(0), row->get_int(1)};
    }
    return std::nullopt;
}

void insert_bodies(store::Transaction& tx, const Batch& batch) {
    if (tx.engine() == store::Engine::Sqlite) {
        for (std::size_t i = 0; i < batch.bodied.size(); ++i) {
            const StoredEvent& event = *batch.bodied[i];
            tx.execute(
                kInsertBody,
                {event.id, event.tenant_id, event.type, event.position.str(), batch.bodies[i]}
            );
        }
        return;
    }
    store::TextList ids;
    store::TextList tenants;
    store::TextList types;
    store::TextList positions;
    store::TextList bodies;
    for (std::size_t i = 0; i < batch.bodied.size(); ++i) {
        ids.emplace_back(batch.bodied[i]->id);
        tenants.emplace_back(batch.bodied[i]->tenant_id.str());
        types.emplace_back(batch.bodied[i]->type);
        positions.emplace_back(batch.bodied[i]->position.str());
        bodies.emplace_back(batch.bodies[i]);
    }
    tx.defer(
        kInsertBodies,
        {std::move(ids),
         std::move(tenants),
         std::move(types),
         std::move(positions),
         std::move(bodies)}
    );
}

void insert_deliveries(store::Transaction& tx, const Batch& batch, EpochMs now) {
    store::IntList webhooks;
    for (const Queued& queued : batch.queue) {
        webhooks.push_back(queued.webhook);
    }
    store::IntList lanes = webhooks;
    std::sort(lanes.begin(), lanes.end());
    lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
    if (tx.engine() == store::Engine::Postgres) {
        // Lanes first, in order: whoever empties a lane either sees these rows or finds the lane
        // touched.
        tx.defer(kLockLanes, {lanes});
        tx.defer(kTouchLanes, {lanes, now});
        store::TextList events;
        store::TextList ids;
        for (const Queued& queued : batch.queue) {
            events.emplace_back(queued.event_id);
            ids.emplace_back(queued.id);
        }
        tx.defer(kInsertDeliveries, {std::move(webhooks), std::move(events), std::move(ids), now});
        return;
    }
    tx.execute(kTouchLanes, {lanes, now});
    Json rows = Json::array();
    for (const Queued& queued : batch.queue) {
        rows.push_back({queued.webhook, queued.event_id, queued.id});
    }
    tx.execute(kInsertDeliveries, {rows.dump(), now});
}

// False when another process moved the cursor first.
bool write_batch(store::Transaction& tx, const Batch& batch, EpochMs now) {
    const Position to = batch.events.back().position;
    if (tx.execute(
            kMoveCursor, {kFanoutCursor, batch.from.txid, batch.from.seq, to.txid, to.seq, now}
        ) == 0) {
        return false;
    }
    fail_point("fanout-after-cursor");
    if (!batch.queue.empty()) {
        insert_bodies(tx, batch);
        insert_deliveries(tx, batch, now);
    }
    for (const SetAside& aside : batch.set_aside) {
        const StoredEvent& event = *aside.event;
        tx.defer(
            kSetAside,
            {event.id, event.tenant_id, event.type, event.position.str(), aside.reason, now}
        );
    }
    fail_point("fanout-before-commit");
    return true;
}

}  // namespace

void anchor_cursor(const method::Runtime& runtime) {
    runtime.database.write(
        [&](store::Transaction& tx) {
            if (find_cursor(tx)) {
                return;
            }
            const Position tail = outbox::tail(tx);
            tx.execute(kAnchor, {kFanoutCursor, tail.txid, tail.seq, runtime.clock.now_ms()});
        },
        store::Purpose::Background
    );
}

struct Fanout::Impl {
    struct Compiled {
        std::string text;
        std::vector<std::string> patterns;
    };

    int batch;
    std::unordered_map<std::int64_t, std::unique_ptr<Compiled>> compiled;  // by webhook

    const std::vector<std::string>* patterns_of(std::int64_t webhook, const std::string& text) {
        std::unique_ptr<Compiled>& slot = compiled[webhook];
        if (!slot || slot->text != text) {
            slot = std::make_unique<Compiled>(Compiled{
                text, Json::parse(text).get<std::vector<std::string>>()});
        }
        return &slot->patterns;
    }

    // The events behind the cursor and the webhooks of their tenants, in one snapshot. A webhook
    // created, resumed, paused or deleted after it is no matter: what this batch holds was visible
    // before the creation or the resume; rows queued for a webhook paused since are cancelled when
    // their lane is looked at; for a deleted one none are queued.
    void read(const method::Runtime& runtime, Batch& out, int limit) {
        store::Rows rows;
        runtime.database.read(
            [&](store::Transaction& tx) {
                out = {};
                const auto cursor = find_cursor(tx);
                if (!cursor) {
                    throw ComputeError(
                        ErrorCode::InvalidState, "fan-out: the cursor is not anchored yet"
                    );
                }
                out.from = *cursor;
                out.events = outbox::read_after(tx, *cursor, limit);
                std::set<std::string> tenants;
                for (const StoredEvent& event : out.events) {
                    tenants.insert(event.tenant_id.str());
                }
                if (!tenants.empty()) {
                    rows = tx.query(kCandidates, {store::TextList(tenants.begin(), tenants.end())});
                }
            },
            store::Purpose::Background
        );
        if (compiled.size() > rows.size() + 10'000) {
            compiled.clear();
        }
        for (const store::Row& row : rows) {
            const std::int64_t num = row.get_int(0);
            out.candidates[row.get_text(1)].push_back(
                {num, patterns_of(num, row.get_text(3)), row.get_text(4)}
            );
        }
    }

    void match(const method::Runtime& runtime, Batch& batch_out) const {
        const store::Engine engine = runtime.database.engine();
        for (const StoredEvent& event : batch_out.events) {
            const auto found = batch_out.candidates.find(event.tenant_id.str());
            if (found == batch_out.candidates.end()) {
                continue;
            }
            std::string body;
            for (const Candidate& candidate : found->second) {
                const bool is_wanted = std::any_of(
                    candidate.patterns->begin(),
                    candidate.patterns->end(),
                    [&](const std::string& pattern) { return pattern_matches(pattern, event.type); }
                );
                if (!is_wanted ||
                    outbox::was_visible(event.position, candidate.visible_mark, engine)) {
                    continue;
                }
                if (body.empty()) {
                    body = event_body(
                        {event.id,
                         event.type,
                         event.tenant_id.str(),
                         event.subject,
                         event.time,
                         event.position.str(),
                         event.data}
                    );
                    std::string reason = why_unqueueable(event, body);
                    if (!reason.empty()) {
                        batch_out.set_aside.push_back({&event, std::move(reason)});
                        break;
                    }
                    batch_out.bodied.push_back(&event);
                    batch_out.bodies.push_back(body);
                }
                batch_out.queue.push_back(
                    {candidate.num, event.id, new_id("dlv_", runtime.clock, runtime.rng)}
                );
            }
        }
    }

    // nullopt when another process was faster.
    std::optional<FanoutReport> pass(
        const method::Runtime& runtime, int limit, const std::string& give_up_reason
    ) {
        Batch work;
        read(runtime, work, limit);
        if (work.events.empty()) {
            return FanoutReport{};
        }
        if (give_up_reason.empty()) {
            match(runtime, work);
        } else {
            work.set_aside.push_back({&work.events.front(), give_up_reason});
        }
        const EpochMs now = runtime.clock.now_ms();
        const bool is_mine = runtime.database.write(
            [&](store::Transaction& tx) { return write_batch(tx, work, now); },
            store::Purpose::Background
        );
        if (!is_mine) {
            return std::nullopt;
        }
        FanoutReport report;
        report.events = static_cast<int>(work.events.size());
        report.deliveries = static_cast<int>(work.queue.size());
        report.set_aside = static_cast<int>(work.set_aside.size());
        report.is_full = report.events == limit;
        for (const SetAside& aside : work.set_aside) {
            runtime.log.error(
                "events.fanout.set_aside", {{"event", aside.event->id}, {"reason", aside.reason}}
            );
        }
        return report;
    }

    // A batch that cannot be written for a reason that lies in it must not block the outbox: its
    // first event goes alone, and when that fails too it is set aside. A database that is away is
    // no such reason.
    std::optional<FanoutReport> pass_safely(const method::Runtime& runtime) {
        try {
            return pass(runtime, batch, {});
        } catch (const ComputeError& error) {
            if (error.code() != ErrorCode::InternalError) {
                throw;
            }
            runtime.log.error("events.fanout.batch_failed", {{"error", error.log_detail()}});
        }
        std::string reason;
        try {
            auto report = pass(runtime, 1, {});
            if (report) {
                report->is_full = true;
            }
            return report;
        } catch (const ComputeError& error) {
            if (error.code() != ErrorCode::InternalError) {
                throw;
            }
            reason = "it could not be queued: " + error.log_detail().substr(0, 300);
        }
        auto report = pass(runtime, 1, reason);
        if (report) {
            report->is_full = true;
        }
        return report;
    }
};

Fanout::Fanout(int batch) : impl_(std::make_unique<Impl>()) {
    impl_->batch = batch;
}
Fanout::~Fanout() = default;

FanoutReport Fanout::run_once(const method::Runtime& runtime) {
    const auto report = impl_->pass_safely(runtime);
    if (!report) {
        return {.is_full = true};  // look again behind the cursor that another process moved
    }
    if (report->deliveries > 0) {
        fail_point("fanout-after-commit");
        // After the commit; when the process dies here the safety net of delivery finds the rows
        // within two seconds.
        runtime.wake.wake(kDeliveriesChannel);
        runtime.database.notify(kDeliveriesChannel);
    }
    return *report;
}

}  // namespace compute::events
