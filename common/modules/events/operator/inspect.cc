#include "modules/events/operator/inspect.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <nlohmann/json.hpp>

namespace compute::events {
namespace {

// Across tenants, which only operators may. The state is text of the statement, so that a partial
// index may serve it.
#define COMPUTE_LISTING(CONDITION)                                                              \
    "select " COMPUTE_DELIVERY_COLUMNS                                                          \
    " from webhook_deliveries d join webhooks w on w.num = d.webhook join webhook_bodies b on " \
    "b.event = d.event where d.seq < $1 and ($2 = '' or w.id = $2) " CONDITION                  \
    " order by d.seq desc limit $3"
constexpr const char* kListAll = COMPUTE_LISTING("");
constexpr const char* kListPending = COMPUTE_LISTING("and d.state = 0");
constexpr const char* kListDelivered = COMPUTE_LISTING("and d.state = 1");
constexpr const char* kListDead = COMPUTE_LISTING("and d.state = 2");
constexpr const char* kListCancelled = COMPUTE_LISTING("and d.state = 3");

store::Sql listing_sql(std::optional<DeliveryState> state) {
    if (!state) {
        return kListAll;
    }
    switch (*state) {
        case DeliveryState::Pending:
            return kListPending;
        case DeliveryState::Delivered:
            return kListDelivered;
        case DeliveryState::Dead:
            return kListDead;
        case DeliveryState::Cancelled:
            return kListCancelled;
    }
    throw internal_error("unknown delivery state");
}

// A cursor is the number of the last delivery shown.
std::int64_t place_of(const std::string& cursor) {
    if (cursor.empty()) {
        return std::numeric_limits<std::int64_t>::max();
    }
    std::int64_t seq = 0;
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), seq);
    if (error != std::errc() || end != cursor.data() + cursor.size() || seq < 1) {
        throw invalid_input("cursor: not one that deliveries returned across tenants");
    }
    return seq;
}

constexpr const char* kList = "select " COMPUTE_WEBHOOK_COLUMNS
                              ", (select count(*) from (select 1 from webhook_deliveries d where "
                              "d.webhook = w.num and d.state = 0 limit 100000) p),"
                              " (select count(*) from (select 1 from webhook_deliveries d where "
                              "d.webhook = w.num and d.state = 2 limit 100000) q)"
                              " from webhooks w where ($1 = '' or w.tenant_id = $1) order by w.num";
constexpr std::size_t kPendingColumn = 13;

constexpr const char* kExplain =
    "select " COMPUTE_DELIVERY_COLUMNS
    ", d.round, d.token is not null, d.sent, w.url, w.active, b.position, length(b.body), "
    "l.due_at, l.token is not null, l.careful"
    " from webhook_deliveries d join webhooks w on w.num = d.webhook join webhook_bodies b on "
    "b.event = d.event"
    " left join webhook_lanes l on l.webhook = d.webhook where d.id = $1";
constexpr store::Sql kExplainSql(
    kExplain,
    "select " COMPUTE_DELIVERY_COLUMNS
    ", d.round, (d.token is not null)::int, d.sent, w.url, w.active, b.position, "
    "octet_length(b.body), l.due_at,"
    " (l.token is not null)::int, l.careful"
    " from webhook_deliveries d join webhooks w on w.num = d.webhook join webhook_bodies b on "
    "b.event = d.event"
    " left join webhook_lanes l on l.webhook = d.webhook where d.id = $1"
);
constexpr std::size_t kAfterDelivery = 15;
constexpr const char* kAttempts =
    "select round, attempt, started_at, ended_at, outcome, status, error, detail, address, phases "
    "from webhook_attempts"
    " where delivery = $1 order by round, attempt";

std::string outcome_name(std::int64_t outcome) {
    switch (outcome) {
        case 0:
            return "not sent";
        case 1:
            return "unknown";
        default:
            return "answered";
    }
}

Json phases_json(const std::string& text) {
    static constexpr const char* kNames[] = {
        "resolveMs", "connectMs", "tlsMs", "firstByteMs", "totalMs"};
    Json out = Json::object();
    std::size_t begin = 0;
    for (const char* name : kNames) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (begin < end) {
            out[name] = std::stod(text.substr(begin, end - begin));
        }
        begin = std::min(end + 1, text.size());
    }
    return out;
}

Json attempt_json(const store::Row& row) {
    Json out = {
        {"round", row.get_int(0)},
        {"attempt", row.get_int(1)},
        {"startedAt", row.get_int(2)},
        {"endedAt", row.get_int(3)},
        {"outcome", outcome_name(row.get_int(4))},
        {"phases", phases_json(row.find_text(9).value_or(""))},
    };
    if (const auto status = row.find_int(5)) {
        out["status"] = *status;
    }
    static constexpr std::pair<std::size_t, const char*> kTexts[] = {
        {6, "error"}, {7, "detail"}, {8, "address"}};
    for (const auto& [column, name] : kTexts) {
        if (const auto text = row.find_text(column)) {
            out[name] = *text;
        }
    }
    return out;
}

std::string attempt_sentence(const Json& attempt) {
    std::string text = iso_time(attempt["startedAt"].get<EpochMs>()) + "  attempt " +
                       std::to_string(attempt["attempt"].get<int>());
    if (attempt["round"].get<int>() > 0) {
        text += " of redelivery " + std::to_string(attempt["round"].get<int>());
    }
    if (attempt.contains("address")) {
        text += " to " + attempt["address"].get<std::string>();
    }
    if (attempt.contains("status")) {
        text += ": answered " + std::to_string(attempt["status"].get<int>());
    } else {
        text += ": " + attempt["outcome"].get<std::string>();
    }
    if (attempt.contains("error")) {
        text += " (" + attempt["error"].get<std::string>() + ")";
    }
    return text + " after " +
           std::to_string(attempt["endedAt"].get<EpochMs>() - attempt["startedAt"].get<EpochMs>()) +
           " ms";
}

std::string next_sentence(
    const Delivery& delivery, const store::Row& row, const config::Config& config, EpochMs now
) {
    switch (delivery.state) {
        case DeliveryState::Delivered:
            return "delivered; redeliver sends it again";
        case DeliveryState::Dead:
            return "dead: its attempts are used up or its receiver is gone; redeliver starts them "
                   "anew";
        case DeliveryState::Cancelled:
            return "cancelled: its webhook was paused; redeliver once it is active again";
        case DeliveryState::Pending:
            break;
    }
    if (!row.get_bool(kAfterDelivery + 4)) {
        return "its webhook is paused: it will be cancelled when its lane is looked at";
    }
    if (row.get_int(kAfterDelivery + 2) == 2) {
        return "no attempt of it was ever sent; it is tried again at " + iso_time(delivery.next_at);
    }
    if (row.get_bool(kAfterDelivery + 1)) {
        return "claimed: it is being sent, or comes back when the lease ends at " +
               iso_time(row.find_int(kAfterDelivery + 7).value_or(now));
    }
    const std::string which = std::to_string(delivery.attempts + 1) + " of " +
                              std::to_string(config.events.delivery.max_attempts);
    if (delivery.next_at > now) {
        return "attempt " + which + " at " + iso_time(delivery.next_at) +
               ", the delay after the last failure";
    }
    return "attempt " + which + " is due; it waits for its turn in the lane of its webhook";
}

}  // namespace

std::vector<Json> list_webhooks(
    store::Database& database, const std::optional<TenantId>& tenant_id, EpochMs now
) {
    std::vector<Json> out;
    for (const store::Row& row : database.query(kList, {tenant_id ? tenant_id->str() : ""})) {
        Json webhook = webhook_json(webhook_from(row), now);
        webhook["pending"] = row.get_int(kPendingColumn);
        webhook["dead"] = row.get_int(kPendingColumn + 1);
        out.push_back(std::move(webhook));
    }
    return out;
}

Json list_deliveries(store::Database& database, const DeliveryListing& listing) {
    // One more tells whether there is a next page.
    const store::Rows rows = database.query(
        listing_sql(listing.state),
        {place_of(listing.cursor), listing.webhook_id, listing.limit + 1}
    );
    const std::size_t shown = std::min(rows.size(), static_cast<std::size_t>(listing.limit));
    Json out = {{"items", Json::array()}};
    for (std::size_t i = 0; i < shown; ++i) {
        out["items"].push_back(delivery_json(delivery_from(rows[i])));
    }
    if (rows.size() > shown) {
        out["nextCursor"] = std::to_string(delivery_from(rows[shown - 1]).seq);
    }
    return out;
}

std::optional<Json> explain_delivery(
    store::Database& database,
    const config::Config& config,
    const std::string& delivery_id,
    EpochMs now
) {
    const store::Rows rows = database.query(kExplainSql, {delivery_id});
    if (rows.empty()) {
        return std::nullopt;
    }
    const store::Row& row = rows.front();
    const Delivery delivery = delivery_from(row);
    const std::string position = row.get_text(kAfterDelivery + 5);
    Json attempts = Json::array();
    Json story = Json::array();
    story.push_back(
        iso_time(delivery.queued_at) + "  queued by event " + delivery.event_id + " (" +
        delivery.event_type + ")" + (position.empty() ? ", a ping" : " at position " + position) +
        " for " + row.get_text(kAfterDelivery + 3)
    );
    for (const store::Row& attempt : database.query(kAttempts, {delivery.seq})) {
        attempts.push_back(attempt_json(attempt));
        story.push_back(attempt_sentence(attempts.back()));
    }
    std::string next = next_sentence(delivery, row, config, now);
    story.push_back(iso_time(now) + "  now: " + next);
    return Json{
        {"delivery", delivery_json(delivery)},
        {"webhook",
         {{"id", delivery.webhook_id},
          {"url", row.get_text(kAfterDelivery + 3)},
          {"active", row.get_bool(kAfterDelivery + 4)}}},
        {"event",
         {{"id", delivery.event_id},
          {"type", delivery.event_type},
          {"position", position},
          {"bytes", row.get_int(kAfterDelivery + 6)}}},
        {"redeliveries", row.get_int(kAfterDelivery)},
        {"attempts", std::move(attempts)},
        {"next", std::move(next)},
        {"story", std::move(story)},
    };
}

}  // namespace compute::events
