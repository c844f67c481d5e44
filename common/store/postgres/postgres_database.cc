#include "store/postgres/postgres_database.h"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "core/log.h"
#include "store/load.h"
#include "store/postgres/encoding.h"
#include "store/postgres/listener.h"
#include "store/postgres/notifier.h"
#include "store/postgres/pool.h"
#include "store/postgres/transaction.h"

namespace compute::store::postgres {
namespace {

constexpr int kMaxAttempts = 6;  // the first and five more
constexpr std::chrono::milliseconds kFirstPause{2};

class PostgresDatabase final : public Database, public Measured {
public:
    PostgresDatabase(const Settings& settings, const Options& options)
        : pool_(settings, options.pool_size),
          log_(options.log != nullptr ? *options.log : null_log()),
          notifier_(settings, log_) {
        Pool::Lease first = pool_.lend(Pool::Patience::TryOnce);
        version_ = (*first).server_version();
    }

    Rows query(Sql sql, const Params& params, Purpose purpose) override {
        Counting::Cell& count = counting_.of(purpose);
        const LatencyTimer timer(count.reads);
        count.read_transactions.fetch_add(1, std::memory_order_relaxed);
        const Result result = run_single(Access::ReadOnly, sql, params, count);
        return rows_of(result.get());
    }

    std::int64_t execute(Sql sql, const Params& params, Purpose purpose) override {
        check_writable();
        Counting::Cell& count = counting_.of(purpose);
        const LatencyTimer timer(count.writes);
        count.write_transactions.fetch_add(1, std::memory_order_relaxed);
        const Result result = run_single(Access::ReadWrite, sql, params, count);
        count.commits.fetch_add(1, std::memory_order_relaxed);
        return std::strtoll(PQcmdTuples(result.get()), nullptr, 10);
    }

    void notify(std::string_view channel) override {
        if (pool_.settings().is_prepared && !pool_.settings().is_read_only) {
            notifier_.notify(channel);
        }
    }

    std::unique_ptr<Listener> listen(
        std::vector<std::string> channels, std::function<void(std::string_view)> on_notify
    ) override {
        if (!pool_.settings().is_prepared) {
            return std::make_unique<Listener>(
            );  // a pooler has no session to listen on: polling finds the work
        }
        return make_listener(pool_.settings(), std::move(channels), std::move(on_notify), log_);
    }

    [[nodiscard]] Engine engine() const noexcept override { return Engine::Postgres; }
    [[nodiscard]] Counters counters(Purpose purpose) const override {
        return counting_.snapshot(purpose);
    }
    [[nodiscard]] PoolUse pool_use() const override { return pool_.use(); }
    [[nodiscard]] std::size_t queued_writes() const override { return 0; }
    [[nodiscard]] LatencyHistogram::Snapshot read_latency(Purpose purpose) const override {
        return counting_.of(purpose).reads.snapshot();
    }
    [[nodiscard]] LatencyHistogram::Snapshot write_latency(Purpose purpose) const override {
        return counting_.of(purpose).writes.snapshot();
    }
    [[nodiscard]] std::string engine_version() override { return "PostgreSQL " + version_; }
    [[nodiscard]] std::string location() const override { return pool_.settings().location; }
    [[nodiscard]] std::int64_t database_now_ms() override {
        return query(
                   "select (extract(epoch from clock_timestamp()) * 1000)::bigint",
                   {},
                   Purpose::Background
        )
            .at(0)
            .get_int(0);
    }

protected:
    void do_read(const Body& body, Purpose purpose) override {
        const LatencyTimer timer(counting_.of(purpose).reads);
        counting_.of(purpose).read_transactions.fetch_add(1, std::memory_order_relaxed);
        run_transaction(Access::ReadOnly, body, counting_.of(purpose));
    }

    void do_write(const Body& body, Purpose purpose) override {
        check_writable();
        const LatencyTimer timer(counting_.of(purpose).writes);
        counting_.of(purpose).write_transactions.fetch_add(1, std::memory_order_relaxed);
        run_transaction(Access::ReadWrite, body, counting_.of(purpose));
    }

private:
    class RoundTripGuard {
    public:
        RoundTripGuard(const Connection& connection, Counting::Cell& count)
            : connection_(connection), count_(count), before_(connection.round_trips()) {}
        ~RoundTripGuard() {
            count_.round_trips.fetch_add(
                connection_.round_trips() - before_, std::memory_order_relaxed
            );
        }
        RoundTripGuard(const RoundTripGuard&) = delete;
        RoundTripGuard& operator=(const RoundTripGuard&) = delete;

    private:
        const Connection& connection_;
        Counting::Cell& count_;
        std::uint64_t before_;
    };

    void check_writable() const {
        if (pool_.settings().is_read_only) {
            throw ReadOnlyViolation("a write on a database that was opened read-only");
        }
    }

    static void pause(int attempt) {
        // Two that collided must not collide again: the pause differs from thread to thread.
        const auto salt = std::hash<std::thread::id>{}(std::this_thread::get_id()) % 7;
        std::this_thread::sleep_for(kFirstPause * (1 << attempt) + std::chrono::milliseconds(salt));
    }

    void run_transaction(Access access, const Body& body, Counting::Cell& count) {
        std::vector<std::function<void()>> hooks;
        {
            const DepthGuard depth;
            for (int attempt = 0; !try_transaction(access, body, count, attempt, hooks);
                 ++attempt) {
                count.retries.fetch_add(1, std::memory_order_relaxed);
                pause(attempt);
            }
        }
        for (const auto& hook : hooks) {
            hook();
        }
    }

    // False when it should run again.
    bool try_transaction(
        Access access,
        const Body& body,
        Counting::Cell& count,
        int attempt,
        std::vector<std::function<void()>>& hooks
    ) {
        Pool::Lease lease = pool_.lend();
        const RoundTripGuard round_trips(*lease, count);
        PostgresTransaction tx(*lease, access, pool_.settings(), count);
        try {
            body(tx);
            tx.check_committable();
            tx.commit();
        } catch (...) {
            if (access == Access::ReadWrite) {
                count.rollbacks.fetch_add(1, std::memory_order_relaxed);
            }
            if (!tx.may_retry() || attempt + 1 >= kMaxAttempts) {
                throw;
            }
            return false;
        }
        if (access == Access::ReadWrite) {
            count.commits.fetch_add(1, std::memory_order_relaxed);
        }
        hooks = tx.take_hooks();
        return true;
    }

    // A statement on its own. Sessions are read-only by default, so a read goes bare; a write, and
    // anything behind a pooler, gets BEGIN and COMMIT in the same round trip.
    Result run_single(Access access, Sql sql, const Params& params, Counting::Cell& count) {
        const DepthGuard depth;
        check_params(params);
        count.statements.fetch_add(1, std::memory_order_relaxed);
        std::vector<Command> commands;
        const bool is_bare = access == Access::ReadOnly && pool_.settings().is_prepared;
        if (!is_bare) {
            commands = opening(access, pool_.settings());
        }
        const std::size_t keep = commands.size();
        commands.push_back({std::string(sql.postgres), params});
        if (!is_bare) {
            commands.push_back({"commit", {}});
        }
        for (int attempt = 0;; ++attempt) {
            Pool::Lease lease = pool_.lend();
            const RoundTripGuard round_trips(*lease, count);
            try {
                return (*lease).run(commands, keep);
            } catch (...) {
                const bool is_worth_it = may_repeat(*lease, access) && attempt + 1 < kMaxAttempts;
                clean_up(*lease);
                if (!is_worth_it) {
                    throw;
                }
            }
            count.retries.fetch_add(1, std::memory_order_relaxed);
            pause(attempt);
        }
    }

    // A lost connection may have committed a write.
    static bool may_repeat(const Connection& connection, Access access) {
        return connection.is_lost()
                   ? access == Access::ReadOnly
                   : connection.fault() && connection.fault()->kind != FaultKind::Statement;
    }

    static void clean_up(Connection& connection) {
        if (connection.is_lost() || !connection.is_in_transaction()) {
            return;
        }
        try {
            connection.send_only({"rollback", {}});
        } catch (const ComputeError&) {
            // Lost: the pool closes it.
        }
    }

    Counting counting_;
    Pool pool_;
    Log& log_;
    Notifier notifier_;
    std::string version_;
};

}  // namespace

std::unique_ptr<Database> open_postgres(const Options& options) {
    return std::make_unique<PostgresDatabase>(make_settings(options), options);
}

}  // namespace compute::store::postgres
