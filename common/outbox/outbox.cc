#include "outbox/outbox.h"

#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::outbox {
namespace {

using store::Engine;
using store::Row;
using store::Sql;
using store::Transaction;

constexpr const char* kMemo = "outbox.txid";

// The first event of a transaction on SQLite names it: its txid is the seq it is about to get.
constexpr Sql kInsertFirst =
    "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) values "
    "(coalesce((select seq from sqlite_sequence where name = 'outbox_events'), 0) + 1, $1, $2, $3, "
    "$4, $5, $6) "
    "returning txid, seq";
constexpr Sql kInsertNext =
    "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) values ($7, $1, "
    "$2, $3, $4, $5, $6)";
constexpr std::string_view kInsertPostgres =
    "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) values "
    "(pg_current_xact_id()::text::bigint + (select txid_offset from outbox_state where id = 1), "
    "$1, $2, $3, $4, $5, $6)";

constexpr Sql kReadAfter{
    "select txid, seq, id, type, tenant_id, subject, time, data from outbox_events "
    "where seq > $2 order by seq limit $3",
    "select txid, seq, id, type, tenant_id, subject, time, data from outbox_events "
    "where (txid, seq) > ($1, $2) and txid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint "
    "+ (select txid_offset from outbox_state where id = 1) order by txid, seq limit $3"};

// The last row in reach; without one, the last place in front of all that can still come.
constexpr Sql kTail{
    "select txid, seq from outbox_events where seq = (select max(seq) from outbox_events) "
    "union all "
    "select seq, seq from sqlite_sequence where name = 'outbox_events' and not exists (select 1 "
    "from outbox_events)",
    "with reach as (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + txid_offset as "
    "bound "
    "from outbox_state where id = 1), "
    "last as (select txid, seq from outbox_events where txid < (select bound from reach) "
    "order by txid desc, seq desc limit 1) "
    "select txid, seq from last union all "
    "select bound - 1, 9223372036854775807 from reach where not exists (select 1 from last)"};

constexpr Sql kMark{
    "select coalesce((select seq from sqlite_sequence where name = 'outbox_events'), 0)",
    "select pg_current_snapshot()::text, pg_current_xact_id_if_assigned()::text::bigint, "
    "txid_offset "
    "from outbox_state where id = 1"};

// Looks at the oldest rows only: with a condition on the time inside, a pass with nothing to do
// would read everything.
constexpr Sql kPrune{
    "delete from outbox_events where seq in (select seq from "
    "(select seq, time from outbox_events where seq <= $3 order by seq limit $4) where time < $1)",
    "delete from outbox_events where ctid = any (array(select place from "
    "(select ctid as place, time from outbox_events where (txid, seq) <= ($2, $3) order by txid, "
    "seq limit $4) as oldest "
    "where time < $1))"};

std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

bool take(std::string_view& text, char expected) {
    if (text.empty() || text.front() != expected) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

// The text of a pg_snapshot: xmin:xmax:xip,xip,... Everything below xmin had ended, everything from
// xmax on had not begun, and those listed were under way.
struct Snapshot {
    std::int64_t xmin = 0;
    std::int64_t xmax = 0;
    std::vector<std::int64_t> under_way;
};

Snapshot parse_snapshot(std::string_view text) {
    const ComputeError malformed = internal_error("not a snapshot: " + std::string(text));
    Snapshot snapshot;
    const auto xmin = take_number(text);
    const auto xmax = take(text, ':') ? take_number(text) : std::nullopt;
    if (!xmin || !xmax || !take(text, ':')) {
        throw malformed;
    }
    snapshot.xmin = *xmin;
    snapshot.xmax = *xmax;
    while (!text.empty()) {
        const auto number = take_number(text);
        if (!number || (!text.empty() && (!take(text, ',') || text.empty()))) {
            throw malformed;
        }
        snapshot.under_way.push_back(*number);
    }
    return snapshot;
}

std::string text_of(const Snapshot& snapshot, std::int64_t offset) {
    std::string text =
        std::to_string(snapshot.xmin + offset) + ":" + std::to_string(snapshot.xmax + offset) + ":";
    const char* separator = "";
    for (const std::int64_t number : snapshot.under_way) {
        text += separator + std::to_string(number + offset);
        separator = ",";
    }
    return text;
}

std::string data_text(const Event& event) {
    if (event.data == nullptr) {
        return "{}";
    }
    if (!event.data->is_object()) {
        throw internal_error("event " + event.type + ": data is not an object");
    }
    return dump_json(*event.data);
}

}  // namespace

std::string append(Transaction& tx, const Event& event, const Clock& clock, Rng& rng) {
    std::string id = new_id("evt_", clock, rng);
    store::Params params{
        id, event.tenant_id, event.type, event.subject, clock.now_ms(), data_text(event)};
    if (tx.engine() == Engine::Postgres) {
        tx.defer(Sql(kInsertPostgres), params);
        return id;
    }
    std::optional<std::int64_t>& txid = tx.memo(kMemo);
    if (txid) {
        params.emplace_back(*txid);
        tx.execute(kInsertNext, params);
        return id;
    }
    const Row row = tx.get_row(kInsertFirst, params);
    if (row.get_int(0) != row.get_int(1)) {
        throw internal_error("outbox: a row was numbered by hand");
    }
    txid = row.get_int(0);
    return id;
}

std::vector<StoredEvent> read_after(Transaction& tx, Position cursor, int limit) {
    std::vector<StoredEvent> events;
    for (const Row& row : tx.query(kReadAfter, {cursor.txid, cursor.seq, limit})) {
        events.push_back(
            {.position = {row.get_int(0), row.get_int(1)},
             .id = row.get_text(2),
             .type = row.get_text(3),
             .tenant_id = TenantId(row.get_text(4)),
             .subject = row.get_text(5),
             .time = row.get_int(6),
             .data = row.get_text(7)}
        );
    }
    return events;
}

Position tail(Transaction& tx) {
    const std::optional<Row> row = tx.find_row(kTail);
    return row ? Position{row->get_int(0), row->get_int(1)} : Position{};
}

std::string visibility_mark(Transaction& tx) {
    const Row row = tx.get_row(kMark);
    if (tx.engine() == Engine::Sqlite) {
        return std::to_string(row.get_int(0));
    }
    Snapshot snapshot = parse_snapshot(row.get_text(0));
    // PostgreSQL leaves the transaction's own id out of the list. What it appends becomes visible
    // with the mark, not before.
    const std::optional<std::int64_t> own = row.find_int(1);
    if (own && *own < snapshot.xmax) {
        snapshot.under_way.push_back(*own);
    }
    return text_of(snapshot, row.get_int(2));
}

bool was_visible(const Position& position, std::string_view mark, Engine engine) {
    if (engine == Engine::Sqlite) {
        std::string_view rest = mark;
        const auto seq = take_number(rest);
        if (!seq || !rest.empty()) {
            throw internal_error("not an outbox mark: " + std::string(mark));
        }
        return position.seq <= *seq;
    }
    const Snapshot snapshot = parse_snapshot(mark);
    if (position.txid >= snapshot.xmax) {
        return false;
    }
    for (const std::int64_t number : snapshot.under_way) {
        if (number == position.txid) {
            return false;
        }
    }
    return true;
}

std::int64_t prune(Transaction& tx, EpochMs before, Position passed, int limit) {
    return tx.execute(kPrune, {before, passed.txid, passed.seq, limit});
}

}  // namespace compute::outbox
