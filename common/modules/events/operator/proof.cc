// `webhooks proof`: the outbox against the queue.
#include <map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "modules/events/fanout.h"
#include "modules/events/operator/inspect.h"
#include "modules/events/patterns.h"
#include "modules/events/prune.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

constexpr int kPage = 1'000;

constexpr const char* kCursor = "select txid, seq from event_cursors where name = $1";
constexpr const char* kStart =
    "select txid, seq from outbox_events where time >= $1 order by txid, seq limit 1";
constexpr const char* kWebhooks =
    "select num, id, tenant_id, patterns, proof_mark from webhooks where active = 1 and ($1 = '' "
    "or tenant_id = $1)";
constexpr store::Sql kDeliveries(
    "select d.webhook, b.event_id from webhook_bodies b join webhooks w on w.tenant_id = "
    "b.tenant_id"
    " join webhook_deliveries d on d.webhook = w.num and d.event = b.event"
    " where b.event_id in (select value from json_each($1))",
    "select d.webhook, b.event_id from webhook_bodies b join webhooks w on w.tenant_id = "
    "b.tenant_id"
    " join webhook_deliveries d on d.webhook = w.num and d.event = b.event where b.event_id = "
    "any($1::text[])"
);
constexpr store::Sql kAside(
    "select event_id from webhook_set_aside where event_id in (select value from json_each($1))",
    "select event_id from webhook_set_aside where event_id = any($1::text[])"
);

struct Wanting {
    std::int64_t num = 0;
    std::string id;
    std::vector<std::string> patterns;
    std::string mark;
};
using WantingByTenant = std::map<std::string, std::vector<Wanting>>;

bool wants(const Wanting& webhook, const outbox::StoredEvent& event, store::Engine engine) {
    if (outbox::was_visible(event.position, webhook.mark, engine)) {
        return false;
    }
    for (const std::string& pattern : webhook.patterns) {
        if (pattern_matches(pattern, event.type)) {
            return true;
        }
    }
    return false;
}

void judge_page(
    store::Transaction& tx,
    const WantingByTenant& webhooks,
    const std::vector<outbox::StoredEvent>& events,
    Proof& proof
) {
    store::TextList ids;
    for (const outbox::StoredEvent& event : events) {
        ids.emplace_back(event.id);
    }
    std::unordered_set<std::string> queued;
    for (const store::Row& row : tx.query(kDeliveries, {ids})) {
        queued.insert(std::to_string(row.get_int(0)) + " " + row.get_text(1));
    }
    std::unordered_set<std::string> aside;
    for (const store::Row& row : tx.query(kAside, {ids})) {
        aside.insert(row.get_text(0));
    }
    for (const outbox::StoredEvent& event : events) {
        const auto found = webhooks.find(event.tenant_id.str());
        if (found == webhooks.end()) {
            continue;
        }
        if (aside.contains(event.id)) {
            ++proof.set_aside;
            continue;
        }
        for (const Wanting& webhook : found->second) {
            if (!wants(webhook, event, tx.engine())) {
                continue;
            }
            ++proof.expected;
            if (queued.contains(std::to_string(webhook.num) + " " + event.id)) {
                ++proof.found;
            } else {
                proof.gaps.push_back({webhook.id, event.id, event.position.str()});
            }
        }
    }
}

// One snapshot: webhooks, cursor, outbox and queue belong together.
Proof prove(store::Transaction& tx, EpochMs since, const std::string& tenant) {
    Proof proof;
    const auto cursor_row = tx.find_row(kCursor, {kFanoutCursor});
    const auto start_row = tx.find_row(kStart, {since});
    if (!cursor_row || !start_row) {
        return proof;
    }
    const outbox::Position cursor{cursor_row->get_int(0), cursor_row->get_int(1)};
    WantingByTenant webhooks;
    for (const store::Row& row : tx.query(kWebhooks, {tenant})) {
        webhooks[row.get_text(2)].push_back(
            {row.get_int(0),
             row.get_text(1),
             Json::parse(row.get_text(3)).get<std::vector<std::string>>(),
             row.get_text(4)}
        );
    }
    outbox::Position at{start_row->get_int(0), start_row->get_int(1) - 1};
    while (true) {
        std::vector<outbox::StoredEvent> page = outbox::read_after(tx, at, kPage);
        const bool is_last = page.size() < kPage;
        if (!page.empty()) {
            at = page.back().position;
        }
        std::erase_if(page, [&](const outbox::StoredEvent& event) {
            return event.position > cursor || event.time < since;
        });
        judge_page(tx, webhooks, page, proof);
        if (is_last || at >= cursor) {
            return proof;
        }
    }
}

}  // namespace

Proof prove_queueing(
    store::Database& database,
    const config::Config& config,
    EpochMs since,
    const std::optional<TenantId>& tenant_id,
    EpochMs now
) {
    EpochMs from = since;
    if (const auto& retention = config.events.retention) {
        const double days = std::min(retention->delivered_days, retention->dead_days);
        from = std::max(from, now - static_cast<EpochMs>(days * static_cast<double>(kDayMs)));
    }
    return database.read([&](store::Transaction& tx) {
        return prove(tx, from, tenant_id ? tenant_id->str() : "");
    });
}

}  // namespace compute::events
