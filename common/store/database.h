// The store: one seam over two engines. SQLite is embedded: one writer thread that commits in
// groups, and read-only connections for readers. PostgreSQL is a pool of connections. What holds
// for one holds for the other; the conformance suite in tests/conformance/ says what that is.
//
// Statements use $1, $2, ... placeholders, run through a cache of prepared ones, and are one text
// for both engines where both take it. Times are epoch milliseconds (bigint), ids text, JSON text,
// booleans 0 and 1 (smallint or bigint).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "store/errors.h"
#include "store/value.h"

namespace compute {
class Log;
}

namespace compute::store {

enum class Engine { Sqlite, Postgres };

// The text of a statement: the same for both engines, or one for each. Points to static text.
struct Sql {
    std::string_view sqlite;
    std::string_view postgres;

    constexpr Sql(const char* both)
        : sqlite(both), postgres(both) {}  // NOLINT(google-explicit-constructor)
    constexpr Sql(std::string_view both)
        : sqlite(both), postgres(both) {}  // NOLINT(google-explicit-constructor)
    constexpr Sql(std::string_view for_sqlite, std::string_view for_postgres)
        : sqlite(for_sqlite), postgres(for_postgres) {}

    [[nodiscard]] constexpr std::string_view of(Engine engine) const noexcept {
        return engine == Engine::Sqlite ? sqlite : postgres;
    }
};

// Whose work a transaction is: the local IAM's own reads are counted apart (settled.md, IAM).
enum class Purpose { Call, Iam, Background };

// A transaction under way, given to the function of read() or write() and valid only inside it, on
// its thread. Nothing here does network I/O other than to the database.
class Transaction {
public:
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    virtual ~Transaction() = default;

    // Runs a statement and returns all rows. Throws the errors of store/errors.h; any other fault
    // of the statement is INTERNAL_ERROR. After an error the transaction is lost unless a savepoint
    // was around the statement.
    virtual Rows query(Sql sql, const Params& params = {}) = 0;

    // Runs a statement and returns how many rows it changed.
    virtual std::int64_t execute(Sql sql, const Params& params = {}) = 0;

    // Like execute, when the result does not matter: on PostgreSQL the statement waits and travels
    // with the next query or the commit (no round trip of its own); its error surfaces there. On
    // SQLite it runs at once.
    virtual void defer(Sql sql, const Params& params = {}) = 0;

    // Runs several statements separated by semicolons, without parameters. For migrations.
    virtual void script(std::string_view text) = 0;

    // Runs `function` in a savepoint: what it wrote is undone when it throws, and the exception
    // goes on. Deferred statements are sent before the savepoint starts and before it ends.
    template <class Function>
    auto savepoint(Function&& function) {
        using Result = std::invoke_result_t<Function&>;
        if constexpr (std::is_void_v<Result>) {
            run_savepoint([&] { function(); });
        } else {
            std::optional<Result> result;
            run_savepoint([&] { result.emplace(function()); });
            return std::move(*result);
        }
    }

    // At most one row; more are a defect (INTERNAL_ERROR).
    [[nodiscard]] std::optional<Row> find_row(Sql sql, const Params& params = {});
    // Exactly one row; otherwise INTERNAL_ERROR.
    [[nodiscard]] Row get_row(Sql sql, const Params& params = {});

    // Runs after this transaction has committed, on the thread that called write(), in order; never
    // when it rolled back, and not for what a rolled-back savepoint registered. Must not throw.
    virtual void after_commit(std::function<void()> function) = 0;

    // A value kept for the length of this transaction under `key` (the outbox keeps its SQLite
    // transaction number here).
    virtual std::optional<std::int64_t>& memo(std::string_view key) = 0;

    [[nodiscard]] virtual Engine engine() const noexcept = 0;
    [[nodiscard]] virtual bool is_read_only() const noexcept = 0;
    [[nodiscard]] virtual int savepoint_depth() const noexcept = 0;

protected:
    Transaction() = default;
    virtual void run_savepoint(const std::function<void()>& function) = 0;
};

// Counted since the start; for tests and metrics.
struct Counters {
    std::uint64_t read_transactions = 0;
    std::uint64_t write_transactions = 0;
    std::uint64_t statements = 0;
    std::uint64_t commits = 0;  // of the engine: on SQLite one may cover a group of transactions
    std::uint64_t rollbacks = 0;
    std::uint64_t retries = 0;
    std::uint64_t round_trips = 0;  // waits for PostgreSQL; 0 on SQLite
};

class Listener;

// Thread-safe. read() and write() may not be nested on one thread (INVALID_STATE): a transaction is
// passed on, not opened again.
class Database {
public:
    virtual ~Database() = default;

    // Runs `function(Transaction&)` in a read-only transaction with one snapshot; a write in it
    // throws ReadOnlyViolation. May run `function` again after a lost connection or a serialization
    // failure, so it must not change anything outside.
    template <class Function>
    auto read(Function&& function, Purpose purpose = Purpose::Call) {
        return run<Function>(std::forward<Function>(function), [&](const Body& body) {
            do_read(body, purpose);
        });
    }

    // Runs `function(Transaction&)` in a read-write transaction and returns once it is durable.
    // Rolls back when it throws. On SQLite it runs on the writer thread, together with others' in
    // one commit: do only database work in it. On PostgreSQL the isolation is read committed. May
    // run `function` again after busy, deadlock or serialization failures (at most 5 times). A
    // connection lost at the commit is StoreBusy and leaves the outcome unknown.
    template <class Function>
    auto write(Function&& function, Purpose purpose = Purpose::Call) {
        return run<Function>(std::forward<Function>(function), [&](const Body& body) {
            do_write(body, purpose);
        });
    }

    // One statement on its own, committed by itself. query refuses writes (ReadOnlyViolation) and
    // on PostgreSQL costs one round trip.
    virtual Rows query(Sql sql, const Params& params = {}, Purpose purpose = Purpose::Call) = 0;
    virtual std::int64_t execute(
        Sql sql, const Params& params = {}, Purpose purpose = Purpose::Call
    ) = 0;

    // Tells other processes that share the database, after the fact and at most once per 10 ms and
    // channel; does nothing on SQLite (one process). `channel` is [a-z_]{1,40}.
    virtual void notify(std::string_view channel) = 0;
    // Calls `on_notify(channel)` from a thread of the store for every notify of another (or this)
    // process, and once with every channel after a reconnect. Lasts until the returned object is
    // destroyed. On SQLite nothing is ever called.
    [[nodiscard]] virtual std::unique_ptr<Listener> listen(
        std::vector<std::string> channels, std::function<void(std::string_view)> on_notify
    ) = 0;

    [[nodiscard]] virtual Engine engine() const noexcept = 0;
    [[nodiscard]] virtual Counters counters(Purpose purpose) const = 0;
    // "SQLite 3.40.1" or "PostgreSQL 15.18".
    [[nodiscard]] virtual std::string engine_version() = 0;
    // Where it is, for people; never with a password.
    [[nodiscard]] virtual std::string location() const = 0;
    // The database's own time; on SQLite the host's.
    [[nodiscard]] virtual std::int64_t database_now_ms() = 0;

protected:
    using Body = std::function<void(Transaction&)>;
    virtual void do_read(const Body& body, Purpose purpose) = 0;
    virtual void do_write(const Body& body, Purpose purpose) = 0;

private:
    template <class Function, class Runner>
    static auto run(Function&& function, const Runner& runner) {
        using Result = std::invoke_result_t<Function&, Transaction&>;
        if constexpr (std::is_void_v<Result>) {
            runner([&](Transaction& tx) { function(tx); });
        } else {
            std::optional<Result> result;
            runner([&](Transaction& tx) { result.emplace(function(tx)); });
            return std::move(*result);
        }
    }
};

class Listener {
public:
    virtual ~Listener() = default;
};

// How deep this thread is inside read() or write(): 0 outside. Network code asserts 0 (law 2).
[[nodiscard]] int transaction_depth() noexcept;

enum class Synchronous { Full, Normal };

struct Options {
    // `sqlite:PATH`, a path ending in `.db`, `sqlite::memory:` (one process, tests), or
    // `postgres://...` / `postgresql://...`.
    std::string url;
    Synchronous synchronous = Synchronous::Full;
    int pool_size = 8;     // PostgreSQL connections, or SQLite readers; 1..512
    bool prepared = true;  // false behind a transaction pooler: no prepared statements, no LISTEN
    bool create = true;    // SQLite: make the file when it is missing (mode 0600)
    bool read_only =
        false;  // doctor: nothing is written, no pragma changed; write() throws ReadOnlyViolation
    std::chrono::milliseconds busy_timeout{
        5000};  // waiting for a lock, a pooled connection or a reconnect
    Log* log = nullptr;
};

// Opens (SQLite) or connects (PostgreSQL). Throws INVALID_CONFIG for an unusable url, StoreBusy
// when it cannot be reached.
[[nodiscard]] std::unique_ptr<Database> open_database(const Options& options);

// The engine a url names; INVALID_CONFIG for any other.
[[nodiscard]] Engine engine_of_url(std::string_view url);

}  // namespace compute::store
