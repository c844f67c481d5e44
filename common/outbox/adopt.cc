// Positions after a restore. Transaction ids belong to a cluster; positions must grow for ever.
// What is added to the ids (outbox_state.txid_offset) is raised when the data is found in a cluster
// it does not know.
#include <optional>

#include "outbox/outbox.h"

namespace compute::outbox {
namespace {

using store::Row;
using store::Sql;
using store::Transaction;

// How far positions leap. Cursors and marks may be ahead of the last row we can see and of what was
// noted at the last start, by as many transactions as ran since; no cluster runs this many between
// two starts.
constexpr std::int64_t kLeap = std::int64_t{1} << 40;

constexpr Sql kIdentifier = "select system_identifier::text from pg_control_system()";
constexpr Sql kState =
    "select txid_offset, coalesce(system_identifier, ''), "
    "pg_snapshot_xmin(pg_current_snapshot())::text::bigint, "
    "pg_snapshot_xmax(pg_current_snapshot())::text::bigint, "
    "greatest(highest_txid, (select max(txid) from outbox_events), (select max(txid) from "
    "audit_events)) "
    "from outbox_state where id = 1";
constexpr Sql kSaveState =
    "update outbox_state set txid_offset = $1, highest_txid = greatest(highest_txid, $2), "
    "system_identifier = coalesce($3, system_identifier) where id = 1";
// Waits for every transaction that has appended under the old offset, and holds back those that
// would append.
constexpr Sql kLockWait = "set local lock_timeout = '60s'";
constexpr Sql kLock = "lock table outbox_events, audit_events in share row exclusive mode";

struct State {
    std::int64_t offset = 0;
    std::string identifier;
    std::int64_t xmin = 0;  // the lowest id still under way: what it appends later must come behind
    std::int64_t xmax = 0;
    std::int64_t highest = 0;
};

State read_state(Transaction& tx) {
    const Row row = tx.get_row(kState);
    return {
        .offset = row.get_int(0),
        .identifier = row.get_text(1),
        .xmin = row.get_int(2),
        .xmax = row.get_int(3),
        .highest = row.get_int(4)};
}

// Absent where the server does not let us ask; then only the numbers can tell.
std::optional<std::string> find_identifier(Transaction& tx) {
    try {
        return tx.savepoint([&] { return tx.get_row(kIdentifier).get_text(0); });
    } catch (const store::StoreBusy&) {
        throw;
    } catch (const ComputeError&) {
        return std::nullopt;
    }
}

bool is_foreign(const State& state, const std::optional<std::string>& identifier) {
    const bool has_moved =
        identifier && !state.identifier.empty() && *identifier != state.identifier;
    return has_moved || state.highest > state.xmax + state.offset;
}

}  // namespace

// If the process dies anywhere in here, nothing is changed, and the next start looks again.
bool adopt_cluster(store::Database& database) {
    if (database.engine() == store::Engine::Sqlite) {
        return false;
    }
    return database.write(
        [](Transaction& tx) {
            const std::optional<std::string> identifier = find_identifier(tx);
            State state = read_state(tx);
            const bool is_suspect = is_foreign(state, identifier);
            if (is_suspect) {
                tx.execute(kLockWait);
                tx.execute(kLock);
                state = read_state(tx
                );  // another process may have done it meanwhile; and the snapshot is newer
            }
            const bool must_raise = is_suspect && is_foreign(state, identifier);
            if (must_raise) {
                state.offset = state.highest + kLeap - state.xmin;
            }
            tx.execute(kSaveState, {state.offset, state.xmax + state.offset, identifier});
            return must_raise;
        },
        store::Purpose::Background
    );
}

}  // namespace compute::outbox
