#include "store/sqlite/sqlite_database.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "store/load.h"
#include "store/sqlite/reader_pool.h"
#include "store/sqlite/writer.h"
#include "store/url.h"

namespace compute::store::sqlite {
namespace {

class SqliteDatabase final : public Database, public Measured {
public:
    SqliteDatabase(std::string path, const ConnectionOptions& reader, const Options& options)
        : path_(std::move(path)),
          is_read_only_(options.read_only),
          readers_(reader, options.pool_size) {
        if (is_read_only_) {
            (void)readers_.lend();  // finds out now whether the file can be read
            return;
        }
        ConnectionOptions writer = reader;
        writer.role = ConnectionOptions::Role::Writer;
        writer_ = std::make_unique<Writer>(writer, counting_);
        if (!reader.is_memory) {
            (void)readers_.lend();
        } else {
            is_memory_ = true;
        }
    }

    Rows query(Sql sql, const Params& params, Purpose purpose) override {
        if (is_memory_) {
            return read([&](Transaction& tx) { return tx.query(sql, params); }, purpose);
        }
        const DepthGuard depth;
        check_params(params);
        Counting::Cell& count = counting_.of(purpose);
        const LatencyTimer timer(count.reads);
        count.read_transactions.fetch_add(1, std::memory_order_relaxed);
        count.statements.fetch_add(1, std::memory_order_relaxed);
        ReaderPool::Lease reader = readers_.lend();
        return (*reader).query(sql.sqlite, params);
    }

    std::int64_t execute(Sql sql, const Params& params, Purpose purpose) override {
        return write([&](Transaction& tx) { return tx.execute(sql, params); }, purpose);
    }

    void notify(std::string_view /*channel*/) override {}
    std::unique_ptr<Listener> listen(
        std::vector<std::string> /*channels*/, std::function<void(std::string_view)> /*on_notify*/
    ) override {
        return std::make_unique<Listener>();
    }

    [[nodiscard]] Engine engine() const noexcept override { return Engine::Sqlite; }
    [[nodiscard]] Counters counters(Purpose purpose) const override {
        return counting_.snapshot(purpose);
    }
    [[nodiscard]] PoolUse pool_use() const override { return readers_.use(); }
    [[nodiscard]] std::size_t queued_writes() const override {
        return writer_ ? writer_->queued() : 0;
    }
    [[nodiscard]] LatencyHistogram::Snapshot read_latency(Purpose purpose) const override {
        return counting_.of(purpose).reads.snapshot();
    }
    [[nodiscard]] LatencyHistogram::Snapshot write_latency(Purpose purpose) const override {
        return counting_.of(purpose).writes.snapshot();
    }
    [[nodiscard]] std::string engine_version() override {
        return std::string("SQLite ") + sqlite3_libversion();
    }
    [[nodiscard]] std::string location() const override { return "sqlite:" + path_; }
    [[nodiscard]] std::int64_t database_now_ms() override {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    }

protected:
    void do_read(const Body& body, Purpose purpose) override {
        const LatencyTimer timer(counting_.of(purpose).reads);
        counting_.of(purpose).read_transactions.fetch_add(1, std::memory_order_relaxed);
        if (is_memory_) {
            writer_->run(body, Access::ReadOnly, purpose);
            return;
        }
        std::vector<std::function<void()>> hooks;
        {
            const DepthGuard depth;
            ReaderPool::Lease reader = readers_.lend();
            SqliteTransaction tx(*reader, Access::ReadOnly, counting_.of(purpose));
            (*reader).execute("begin");
            const RollbackGuard end(*reader);
            body(tx);
            tx.check_committable();
            hooks = tx.take_hooks();
        }
        for (const auto& hook : hooks) {
            hook();
        }
    }

    void do_write(const Body& body, Purpose purpose) override {
        if (!writer_) {
            throw ReadOnlyViolation("write() on a database that was opened read-only");
        }
        const LatencyTimer timer(counting_.of(purpose).writes);
        counting_.of(purpose).write_transactions.fetch_add(1, std::memory_order_relaxed);
        writer_->run(body, Access::ReadWrite, purpose);
    }

private:
    // Ends a read transaction. Nothing was written, so there is nothing to lose.
    class RollbackGuard {
    public:
        explicit RollbackGuard(Connection& connection) : connection_(connection) {}
        ~RollbackGuard() {
            try {
                if (!connection_.is_autocommit()) {
                    connection_.execute("rollback");
                }
            } catch (const ComputeError&) {
                // The engine has ended it already.
            }
        }
        RollbackGuard(const RollbackGuard&) = delete;
        RollbackGuard& operator=(const RollbackGuard&) = delete;

    private:
        Connection& connection_;
    };

    const std::string path_;
    const bool is_read_only_;
    bool is_memory_ = false;
    Counting counting_;
    ReaderPool readers_;
    std::unique_ptr<Writer> writer_;  // null when read-only
};

// Makes the file so that nobody else can read it, before SQLite would make it with the umask's
// mode; -wal and -shm take its mode over.
void create_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) {
        ::close(file);
        return;
    }
    if (errno != EEXIST) {
        throw invalid_config(
            "database.url: cannot create " + path + ": " + std::strerror(errno),
            "check that the folder exists and that this user may write to it"
        );
    }
}

}  // namespace

std::unique_ptr<Database> open_sqlite(const Options& options) {
    const std::string path = sqlite_path(options.url);
    const bool is_memory = path == ":memory:";
    if (is_memory && options.read_only) {
        throw invalid_config("database.url: a database in memory cannot be opened read-only");
    }
    if (!is_memory && ::access(path.c_str(), F_OK) != 0) {
        if (!options.create || options.read_only) {
            throw invalid_config(
                "database.url: there is no database at " + path, "better-compute migrate up"
            );
        }
        create_file(path);
    }
    const ConnectionOptions reader{
        .path = path,
        .role = ConnectionOptions::Role::Reader,
        .is_memory = is_memory,
        .is_file_read_only = options.read_only,
        .synchronous = options.synchronous,
        .busy_timeout = options.busy_timeout};
    return std::make_unique<SqliteDatabase>(path, reader, options);
}

}  // namespace compute::store::sqlite
