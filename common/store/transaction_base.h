// What the transactions of both engines have in common: failure, savepoints, hooks after the
// commit, memos, counting. Inside the store only.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/latency.h"
#include "store/database.h"

namespace compute::store {

// Raises transaction_depth() while it lives; INVALID_STATE when the thread is inside a transaction
// already.
class DepthGuard {
public:
    DepthGuard();
    ~DepthGuard();
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
};

// INVALID_STATE when this thread is inside a transaction.
void check_not_nested();

// Thread-safe.
class Counting {
public:
    struct Cell {
        std::atomic<std::uint64_t> read_transactions{0};
        std::atomic<std::uint64_t> write_transactions{0};
        std::atomic<std::uint64_t> statements{0};
        std::atomic<std::uint64_t> commits{0};
        std::atomic<std::uint64_t> rollbacks{0};
        std::atomic<std::uint64_t> retries{0};
        std::atomic<std::uint64_t> round_trips{0};
        LatencyHistogram reads;
        LatencyHistogram writes;
    };
    [[nodiscard]] Cell& of(Purpose purpose) { return cells_[static_cast<std::size_t>(purpose)]; }
    [[nodiscard]] const Cell& of(Purpose purpose) const {
        return cells_[static_cast<std::size_t>(purpose)];
    }
    [[nodiscard]] Counters snapshot(Purpose purpose) const;

private:
    std::array<Cell, 3> cells_;
};

// One statement that fails makes the transaction unusable, on SQLite too, where the engine would go
// on: both engines behave alike. The savepoint around the statement, when there is one, makes it
// usable again by rolling back.
class TransactionBase : public Transaction {
public:
    Rows query(Sql sql, const Params& params) final;
    std::int64_t execute(Sql sql, const Params& params) final;
    void defer(Sql sql, const Params& params) final;
    void script(std::string_view text) final;
    void after_commit(std::function<void()> function) final;
    std::optional<std::int64_t>& memo(std::string_view key) final;
    [[nodiscard]] int savepoint_depth() const noexcept final { return depth_; }

    // Rethrows the failure of a statement that the function swallowed: there is nothing left to
    // commit.
    void check_committable() const;
    // The hooks, for the thread that called write().
    [[nodiscard]] std::vector<std::function<void()>> take_hooks() { return std::move(hooks_); }

protected:
    explicit TransactionBase(Counting::Cell& counting) : counting_(counting) {}
    void run_savepoint(const std::function<void()>& function) final;

    virtual Rows do_query(Sql sql, const Params& params) = 0;
    virtual std::int64_t do_execute(Sql sql, const Params& params) = 0;
    virtual void do_defer(Sql sql, const Params& params) = 0;
    virtual void do_script(std::string_view text) = 0;
    // `depth` counts from 1. begin may throw what was deferred before; release sends what was
    // deferred inside.
    virtual void begin_savepoint(int depth) = 0;
    virtual void release_savepoint(int depth) = 0;
    virtual void undo_savepoint(int depth) = 0;
    // Whether the engine has given up the whole transaction (connection lost, rolled back): no
    // savepoint can help.
    [[nodiscard]] virtual bool is_lost() const noexcept = 0;

private:
    template <class Function>
    auto guarded(Function&& function);
    void undo(int depth, std::size_t hook_count) noexcept;

    Counting::Cell& counting_;
    int depth_ = 0;
    std::exception_ptr failure_;
    std::vector<std::function<void()>> hooks_;
    std::map<std::string, std::optional<std::int64_t>, std::less<>> memos_;
};

// Refuses text that one of the engines could not keep: U+0000.
void check_params(const Params& params);

}  // namespace compute::store
