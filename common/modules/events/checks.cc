#include "modules/events/checks.h"

#include <nlohmann/json.hpp>

#include "modules/events/fanout.h"
#include "modules/events/prune.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

using method::CheckContext;
using method::Finding;
using method::Severity;
using Findings = std::vector<Finding>;

constexpr std::int64_t kCountCap = 1'000'000;  // counting stops here, so that a check stays cheap
constexpr std::int64_t kSecretsPerCheck = 20'000;

// SQLite takes the index webhook_deliveries_unsettled only for its own condition, word by word.
constexpr const char* kDead =
    "select w.id, w.tenant_id, d.n from (select webhook, count(*) as n from webhook_deliveries "
    "where state in (2, 3) and state = 2 group by webhook) d"
    " left join webhooks w on w.num = d.webhook order by d.n desc";
constexpr const char* kLate =
    "select count(*) from (select 1 from webhook_deliveries where state = 0 and next_at < $1 limit "
    "$2) late";
constexpr const char* kCursor = "select txid, seq from event_cursors where name = $1";
constexpr const char* kSetAside = "select count(*), max(at) from webhook_set_aside";
constexpr const char* kNewestSetAside =
    "select event_id, tenant_id, reason from webhook_set_aside order by at desc, event_id limit 5";
constexpr const char* kSecrets =
    "select id, tenant_id, secret, previous_secret, previous_expires_at from webhooks order by num "
    "limit $1";
constexpr const char* kOverdue =
    "select count(*) from (select 1 from webhook_deliveries where state in (1, 3) and queued_at < "
    "$1 limit $3) a"
    " union all select count(*) from (select 1 from webhook_deliveries where state = 2 and "
    "queued_at < $2 limit $3) b";
constexpr const char* kNeverSent =
    "select count(*), min(id) from webhook_deliveries where state = 0 and sent = 2";

Finding finding(const char* check, Severity severity, std::string message, std::string fix) {
    Finding found;
    found.check = check;
    found.severity = severity;
    found.message = std::move(message);
    found.fix = std::move(fix);
    return found;
}

void attach(Finding& found, Json details) {
    found.details = std::make_shared<const Json>(std::move(details));
}

Findings dead_letters(CheckContext& context) {
    std::int64_t count = 0;
    Json webhooks = Json::array();
    for (const store::Row& row : context.database.query(kDead)) {
        if (row.is_null(0)) {
            continue;  // what a deleted webhook left for pruning
        }
        count += row.get_int(2);
        if (webhooks.size() < 5) {
            webhooks.push_back(
                {{"webhookId", row.get_text(0)},
                 {"tenantId", row.get_text(1)},
                 {"dead", row.get_int(2)}}
            );
        }
    }
    if (count == 0) {
        return {};
    }
    Finding found = finding(
        "events.webhook-dead-letters",
        Severity::Warning,
        std::to_string(count) + (count == 1 ? " delivery is dead" : " deliveries are dead"),
        "fix the receivers, then: better-compute webhooks redeliver --all-tenants --state dead "
        "--yes"
    );
    found.count = count;
    attach(found, {{"webhooks", std::move(webhooks)}});
    return {found};
}

Findings backlog(CheckContext& context) {
    const EpochMs before = context.clock.now_ms() - kBacklogLateMs;
    const std::int64_t late = context.database.query(kLate, {before, kCountCap}).at(0).get_int(0);
    if (late <= kBacklogRows) {
        return {};
    }
    Finding found = finding(
        "events.webhook-backlog",
        Severity::Warning,
        std::to_string(late) + " deliveries are more than five minutes late",
        "usually no process runs events.deliver: start better-compute serve --roles controllers"
    );
    found.count = late;
    return {found};
}

Findings fanout_lag(CheckContext& context) {
    std::optional<outbox::Position> cursor;
    outbox::Position tail;
    std::vector<outbox::StoredEvent> oldest;
    context.database.read([&](store::Transaction& tx) {
        cursor.reset();
        if (const auto row = tx.find_row(kCursor, {kFanoutCursor})) {
            cursor = outbox::Position{row->get_int(0), row->get_int(1)};
            tail = outbox::tail(tx);
            oldest = outbox::read_after(tx, *cursor, 1);
        }
    });
    if (!cursor) {
        return {};  // not started yet
    }
    if (*cursor > tail) {
        Finding found = finding(
            "events.fanout-lag",
            Severity::Error,
            "the fan-out cursor " + cursor->str() + " lies behind the end of the outbox " +
                tail.str() + ": events would be skipped",
            "was the database restored into another cluster? Start better-compute serve once: it "
            "raises the offset"
        );
        return {found};
    }
    const EpochMs now = context.clock.now_ms();
    if (oldest.empty() || now - oldest.front().time < kFanoutLagMs) {
        return {};
    }
    Finding found = finding(
        "events.fanout-lag",
        Severity::Warning,
        "the oldest event not fanned out is " + std::to_string((now - oldest.front().time) / 1000) +
            " s old",
        "start a process with the controllers role, or look for a long transaction: better-compute "
        "doctor --check "
        "core.long-transactions"
    );
    attach(found, {{"eventId", oldest.front().id}, {"position", oldest.front().position.str()}});
    return {found};
}

Findings set_aside(CheckContext& context) {
    const store::Row row = context.database.query(kSetAside).at(0);
    const std::int64_t count = row.get_int(0);
    if (count == 0) {
        return {};
    }
    Finding found = finding(
        "events.set-aside",
        Severity::Warning,
        std::to_string(count) + (count == 1 ? " event was" : " events were") +
            " set aside and not queued",
        "look at the reasons in details; delete the rows of webhook_set_aside once they are dealt "
        "with"
    );
    found.count = count;
    Json events = Json::array();
    for (const store::Row& aside : context.database.query(kNewestSetAside)) {
        events.push_back(
            {{"eventId", aside.get_text(0)},
             {"tenantId", aside.get_text(1)},
             {"reason", aside.get_text(2)}}
        );
    }
    attach(found, {{"events", std::move(events)}});
    return {found};
}

// How the webhooks' secrets open under the configured ones. Without a deployment secret nothing can
// be said (core.secret says that).
struct SecretCounts {
    std::int64_t unreadable = 0;
    std::int64_t old = 0;
    Json unreadable_ids = Json::array();
};

SecretCounts count_secrets(CheckContext& context) {
    SecretCounts counts;
    if (context.config.secret.empty()) {
        return counts;
    }
    const Sealer sealer(context.config.secret, context.config.previous_secrets);
    const EpochMs now = context.clock.now_ms();
    for (const store::Row& row : context.database.query(kSecrets, {kSecretsPerCheck})) {
        const std::string& id = row.get_text(0);
        if (!sealer.open(row.get_text(2), id)) {
            ++counts.unreadable;
            if (counts.unreadable_ids.size() < 5) {
                counts.unreadable_ids.push_back({{"webhookId", id}, {"tenantId", row.get_text(1)}});
            }
            continue;
        }
        const auto previous = row.find_text(3);
        const bool is_previous_used = previous && row.find_int(4).value_or(0) > now;
        if (sealer.is_sealed_with_previous(row.get_text(2), id) ||
            (is_previous_used && sealer.is_sealed_with_previous(*previous, id))) {
            ++counts.old;
        }
    }
    return counts;
}

Findings unreadable_secrets(CheckContext& context) {
    SecretCounts counts = count_secrets(context);
    if (counts.unreadable == 0) {
        return {};
    }
    Finding found = finding(
        "events.unreadable-secrets",
        Severity::Error,
        std::to_string(counts.unreadable) +
            " webhooks have a signing secret that this deployment's secrets do not open; nothing "
            "is sent for them",
        "list the secret they were sealed with in previous_secrets, or rotate them with "
        "webhooks.rotateSecret"
    );
    found.count = counts.unreadable;
    attach(found, {{"webhooks", std::move(counts.unreadable_ids)}});
    return {found};
}

Findings rotation_pending(CheckContext& context) {
    const SecretCounts counts = count_secrets(context);
    if (counts.old == 0) {
        return {};
    }
    Finding found = finding(
        "events.secret-rotation-pending",
        Severity::Warning,
        std::to_string(counts.old) +
            " webhooks are still sealed under a previous deployment secret",
        "better-compute secrets rotate"
    );
    found.count = counts.old;
    return {found};
}

Findings prune_behind(CheckContext& context) {
    const auto& retention = context.config.events.retention;
    if (!retention) {
        return {};
    }
    const EpochMs now = context.clock.now_ms();
    const auto overdue = [&](double days) {
        return now - static_cast<EpochMs>(days * static_cast<double>(kDayMs)) - kPruneBehindMs;
    };
    std::int64_t count = 0;
    for (const store::Row& row : context.database.query(
             kOverdue,
             {overdue(retention->delivered_days), overdue(retention->dead_days), kCountCap}
         )) {
        count += row.get_int(0);
    }
    if (count == 0) {
        return {};
    }
    Finding found = finding(
        "events.prune-behind",
        Severity::Warning,
        std::to_string(count) + " settled deliveries are two days past their retention",
        "usually no process runs events.prune: start better-compute serve --roles controllers"
    );
    found.count = count;
    return {found};
}

Findings never_sent(CheckContext& context) {
    const store::Row row = context.database.query(kNeverSent).at(0);
    const std::int64_t count = row.get_int(0);
    if (count == 0) {
        return {};
    }
    Finding found = finding(
        "events.never-sent",
        Severity::Warning,
        std::to_string(count) +
            " deliveries used up their attempts without one being sent; they wait and are tried "
            "daily",
        "look why the delivering process ends: better-compute webhooks explain " + row.get_text(1)
    );
    found.count = count;
    return {found};
}

}  // namespace

std::vector<method::Check> checks() {
    return {
        {"events.webhook-dead-letters", dead_letters},
        {"events.webhook-backlog", backlog},
        {"events.fanout-lag", fanout_lag},
        {"events.set-aside", set_aside},
        {"events.unreadable-secrets", unreadable_secrets},
        {"events.secret-rotation-pending", rotation_pending},
        {"events.prune-behind", prune_behind},
        {"events.never-sent", never_sent},
    };
}

}  // namespace compute::events
