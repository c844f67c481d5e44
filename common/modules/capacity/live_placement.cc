#include "modules/capacity/live_placement.h"

#include <algorithm>
#include <vector>

#include "modules/capacity/placement_rows.h"

namespace compute::capacity {
namespace {

// Nodes read at once: enough to make statements rare, few enough that a large fleet's bookings
// never stand in memory twice.
constexpr std::size_t kChunk = 512;

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
constexpr store::Sql kMark(
    "select coalesce(max(changed_in), 0), '' from nodes",
    "select cast(cast(pg_snapshot_xmin(pg_current_snapshot()) as text) as bigint), "
    "cast(pg_current_snapshot() as text)"
);

}  // namespace

void LivePlacement::catch_up(store::Database& database, const Clock& clock) {
    database.read([&](store::Transaction& tx) { catch_up(tx, clock); });
}

void LivePlacement::catch_up(store::Transaction& tx, const Clock& clock) {
    if (!tx.is_read_only()) {
        throw internal_error("the placement index was to read in a writing transaction");
    }
    const std::optional<Mark> mark =
        state_.with([](const State& state) -> std::optional<Mark> { return state.mark; });
    // In this transaction's snapshot like all that follows. What commits behind it comes next time.
    const store::Row row = tx.get_row(kMark);
    const Mark next{.lowest_open = row.get_int(0), .snapshot = row.get_text(1)};
    if (mark && mark->lowest_open == next.lowest_open && mark->snapshot == next.snapshot) {
        return;
    }
    const store::Rows changes =
        mark ? tx.query(kChanged, {mark->lowest_open, mark->snapshot}) : tx.query(kAll);
    const EpochMs now = clock.now_ms();
    for (std::size_t first = 0; first < changes.size(); first += kChunk) {
        std::vector<NodeState> states;
        for (std::size_t i = first; i < std::min(first + kChunk, changes.size()); ++i) {
            NodeChange change = node_change_of(changes[i]);
            const bool is_news = state_.with([&](State& state) {
                if (change.is_removed) {
                    state.index.remove_node(change.state.id, change.state.version);
                    return false;
                }
                // Own commits are in the index already.
                return state.index.find_version(change.state.id).value_or(-1) <
                       change.state.version;
            });
            if (is_news) {
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
        if (!state.mark || state.mark->lowest_open <= next.lowest_open) {
            state.mark = next;
        }
    });
}

}  // namespace compute::capacity
