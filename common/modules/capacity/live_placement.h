// The placement index of this process, kept in step with the database.
//
// catch_up() takes in what this and other processes have committed since (nodes.changed_in): one
// indexed statement when nothing has, everything the first time. It reads in a transaction of its
// own, so it is called where none is open, before a decision. Decisions read memory only and may be
// made anywhere, inside a transaction too; they may be a moment old, which is why the transaction
// that books compares versions or looks again.
//
// One for each control plane: made with the module, shared by its methods and reconcilers, bound to
// the database when the module starts. Thread-safe. The index's lock is never held across a
// statement or a commit.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/guarded.h"
#include "modules/capacity/placement/placement_index.h"
#include "store/database.h"

namespace compute::capacity {

class LivePlacement {
public:
    // Once, by the module's on_start. What is given outlives this.
    void bind(store::Database& database, const Clock& clock);

    // INTERNAL_ERROR before bind(), INVALID_STATE inside a transaction.
    void catch_up();

    // Any call of the index, under its lock: `live.with([&](PlacementIndex& index) { ... })`. No
    // database inside.
    template <class Function>
    decltype(auto) with(Function&& function) {
        return index_.with(std::forward<Function>(function));
    }

private:
    store::Database* database_ = nullptr;
    const Clock* clock_ = nullptr;
    Guarded<PlacementIndex> index_;
    std::mutex reading_;      // one reader at a time: they would read the same rows
    std::int64_t mark_ = -1;  // guarded by reading_: everything committed below it is in
};

}  // namespace compute::capacity
