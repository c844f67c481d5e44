#include "modules/capacity/live_placement.h"

#include <algorithm>
#include <vector>

#include "modules/capacity/placement_rows.h"

namespace compute::capacity {
namespace {

// Nodes read at once: enough to make statements rare, few enough that a large fleet's bookings
// never stand in memory twice.
constexpr std::size_t kChunk = 512;

// How long a change is taken for one of this process's own commits.
constexpr std::int64_t kUnsureMs = 50;

// What became visible after the mark. PostgreSQL: a transaction that was under way when the mark
// was taken has a number below others that are long seen, so visibility is asked for, not order.
// Numbers from the snapshot's end on come from a database this one was restored from.
constexpr store::Sql kChanged(
    "select " NODE_CHANGE_COLUMNS " from nodes n where n.changed_in > $1 and $2 is not null",
    "select " NODE_CHANGE_COLUMNS
    " from nodes n where n.changed_in >= $1 and n.changed_in < "
    "cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint) and not "
    "pg_visible_in_snapshot(cast(cast(n.changed_in as text) as xid8), "
    "cast($2 as pg_snapshot))"
);
constexpr store::Sql kAll("select " NODE_CHANGE_COLUMNS
                          " from nodes n where n.removed_at is null order by n.id");
constexpr store::Sql kSome(
    "select " NODE_CHANGE_COLUMNS " from nodes n where n.id in (select value from json_each($1))",
    "select " NODE_CHANGE_COLUMNS " from nodes n where n.id = any (cast($1 as text[]))"
);
constexpr store::Sql kMark(
    "select coalesce(max(changed_in), 0), '' from nodes",
    "select cast(cast(pg_snapshot_xmin(pg_current_snapshot()) as text) as bigint), "
    "cast(pg_current_snapshot() as text)"
);

}  // namespace

void LivePlacement::catch_up(store::Database& database, const Clock& clock) {
    database.read([&](store::Transaction& tx) { catch_up(tx, clock); });
}

// The nodes that have to be read now, whoever changed them. What was explained meanwhile is let go.
store::TextList LivePlacement::overdue(State& state, std::int64_t steady_now) {
    store::TextList ids;
    std::erase_if(state.unsure, [&](const auto& entry) {
        const auto& [id, unsure] = entry;
        const bool is_explained = state.index.find_version(id).value_or(0) >= unsure.version;
        if (!is_explained && unsure.since + kUnsureMs <= steady_now) {
            ids.emplace_back(id);
        }
        return is_explained;
    });
    return ids;
}

bool LivePlacement::is_news(
    State& state, const NodeState& node, const store::TextList& overdue, std::int64_t steady_now
) {
    // Own commits are in the index already, or will be in a moment.
    if (state.index.find_version(node.id).value_or(-1) >= node.version) {
        return false;
    }
    if (std::find(overdue.begin(), overdue.end(), node.id) == overdue.end() &&
        state.index.may_be_own(node.id, node.version)) {
        Unsure& unsure = state.unsure.try_emplace(node.id, Unsure{0, steady_now}).first->second;
        unsure.version = std::max(unsure.version, node.version);
        return false;
    }
    return true;
}

void LivePlacement::catch_up(store::Transaction& tx, const Clock& clock) {
    if (!tx.is_read_only()) {
        throw internal_error("the placement index was to read in a writing transaction");
    }
    const std::int64_t steady_now = clock.steady_ms();
    std::optional<Mark> mark;
    store::TextList ids;
    state_.with([&](State& state) {
        mark = state.mark;
        ids = overdue(state, steady_now);
    });
    // In this transaction's snapshot like all that follows. What commits behind it comes next time.
    const store::Row row = tx.get_row(kMark);
    const Mark next{.lowest_open = row.get_int(0), .snapshot = row.get_text(1)};
    const bool is_same =
        mark && mark->lowest_open == next.lowest_open && mark->snapshot == next.snapshot;
    if (is_same && ids.empty()) {
        return;
    }
    store::Rows changes;
    if (!is_same) {
        changes = mark ? tx.query(kChanged, {mark->lowest_open, mark->snapshot}) : tx.query(kAll);
    }
    if (!ids.empty()) {
        const store::Rows some = tx.query(kSome, {ids});
        changes.insert(changes.end(), some.begin(), some.end());
    }
    const EpochMs now = clock.now_ms();
    for (std::size_t first = 0; first < changes.size(); first += kChunk) {
        std::vector<NodeState> states;
        for (std::size_t i = first; i < std::min(first + kChunk, changes.size()); ++i) {
            NodeChange change = node_change_of(changes[i]);
            const bool has_news = state_.with([&](State& state) {
                if (change.is_removed) {
                    state.index.remove_node(change.state.id, change.state.version);
                    return false;
                }
                return LivePlacement::is_news(state, change.state, ids, steady_now);
            });
            if (has_news) {
                states.push_back(std::move(change.state));
            }
        }
        if (states.empty()) {
            continue;
        }
        read_gpus_and_bookings(tx, states, now);
        for (const NodeState& node : states) {
            state_.with([&](State& state) { state.index.put_node(node); });
        }
    }
    // Only now: who finds the mark finds all that is below it. Of two that caught up at once either
    // mark is true; the higher one saves reading.
    state_.with([&](State& state) {
        for (const auto& id : ids) {
            state.unsure.erase(*id);
        }
        if (!state.mark || state.mark->lowest_open <= next.lowest_open) {
            state.mark = next;
        }
    });
}

}  // namespace compute::capacity
