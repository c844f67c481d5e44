// The outbox: events wait here, in the database of the change they report, until fan-out turns each
// into deliveries. An event exists exactly when the transaction that appended it committed.
//
// Order. On PostgreSQL a reader sees only rows whose transaction id lies below pg_snapshot_xmin,
// ordered by (txid, seq), so a slow transaction is waited for and never skipped; on SQLite the
// single writer gives the same order, and the transaction number is the first seq of the
// transaction.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "outbox/event.h"
#include "store/database.h"

namespace compute::outbox {

// The channel of Database::notify that says "there are new events".
inline constexpr const char* kChannel = "outbox";

// Records `event` in `tx` under a new id (`evt_...`); the caller commits, nothing is sent from
// here. Returns the id.
std::string append(store::Transaction& tx, const Event& event, const Clock& clock, Rng& rng);

// The events behind `cursor` that every later reader will also see, oldest first, at most `limit`.
[[nodiscard]] std::vector<StoredEvent> read_after(
    store::Transaction& tx, Position cursor, int limit
);

// The last position that read_after could ever have returned by now.
[[nodiscard]] Position tail(store::Transaction& tx);

// What is visible to this transaction, to be stored beside a row and compared later (settled.md:
// existence and pause go by what was visible). PostgreSQL: the text of pg_current_snapshot();
// SQLite: the last seq.
[[nodiscard]] std::string visibility_mark(store::Transaction& tx);

// Whether an event at `position` had already been visible when `mark` was taken (then it is older
// than what the mark stands for).
[[nodiscard]] bool was_visible(
    const Position& position, std::string_view mark, store::Engine engine
);

// To be called at every start, after the migrations and before anything is appended. PostgreSQL:
// when the data has come into another cluster (restored, moved), whose transaction ids may be
// lower, raises the number that is added to them, so that positions and marks taken before stay
// older than what comes. Returns true when it did. Safe from several processes at once. Nothing
// happens on SQLite.
bool adopt_cluster(store::Database& database);

// Deletes the oldest events, at most `limit`, of those at or before `passed`, which every reader
// must have reached, as far as they happened before `before`. Returns how many; fewer than `limit`
// means that none is left.
std::int64_t prune(store::Transaction& tx, EpochMs before, Position passed, int limit);

}  // namespace compute::outbox
