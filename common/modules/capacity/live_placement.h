// The placement index of this process, kept in step with the database.
//
// catch_up() takes in what this and other processes have committed since (nodes.changed_in): one
// indexed statement when nothing has, everything the first time. It only ever takes in what is
// committed, so it needs a read-only transaction: its own, or the caller's. Decisions read memory
// only and may be made anywhere, inside a writing transaction too; they may be a moment old, which
// is why the transaction that books compares versions or looks again.
//
// One for each control plane: made with the module, shared by its methods and reconcilers.
// Thread-safe; several threads may catch up at once. The lock is never held across a statement or a
// commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/guarded.h"
#include "modules/capacity/placement/placement_index.h"
#include "store/database.h"

namespace compute::capacity {

class LivePlacement {
public:
    // INVALID_STATE when a transaction is open on this thread.
    void catch_up(store::Database& database, const Clock& clock);
    // In a read-only transaction; INTERNAL_ERROR in any other, which could see what is not
    // committed.
    void catch_up(store::Transaction& tx, const Clock& clock);

    // Any call of the index, under its lock: `live.with([&](PlacementIndex& index) { ... })`. No
    // database inside.
    template <class Function>
    decltype(auto) with(Function&& function) {
        return state_.with([&](State& state) -> decltype(auto) {
            return std::forward<Function>(function)(state.index);
        });
    }

private:
    // Everything that was visible in this snapshot is in the index. SQLite: the last change;
    // PostgreSQL: the snapshot's text, for transactions that were under way in it end later.
    struct Mark {
        std::int64_t lowest_open = 0;
        std::string snapshot;
    };
    // A node that has changed, perhaps by commits of this process that are about to be told to the
    // index. Reading it would be for nothing; it is read when they do not explain it soon.
    struct Unsure {
        std::int64_t version = 0;
        std::int64_t since = 0;  // by the steady clock
    };
    struct State {
        PlacementIndex index;
        std::optional<Mark> mark;
        std::map<std::string, Unsure> unsure;  // by node
    };
    static store::TextList overdue(State& state, std::int64_t steady_now);
    static bool is_news(
        State& state, const NodeState& node, const store::TextList& overdue, std::int64_t steady_now
    );

    Guarded<State> state_;
};

}  // namespace compute::capacity
