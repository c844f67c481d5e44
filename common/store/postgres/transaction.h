// A transaction on a PostgreSQL connection. What does not need an answer waits and travels with
// what does: BEGIN and savepoints with the next statement, deferred statements with the next query,
// the last of them with COMMIT.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/postgres/connection.h"
#include "store/transaction_base.h"

namespace compute::store::postgres {

enum class Access { ReadOnly, ReadWrite };

class PostgresTransaction final : public TransactionBase {
public:
    PostgresTransaction(
        Connection& connection, Access access, const Settings& settings, Counting::Cell& counting
    );
    // Rolls back what was not committed.
    ~PostgresTransaction() override;

    // Sends what waits, and COMMIT with it. For a read-only transaction nobody waits for the
    // answer.
    void commit();
    // Whether the function may run again: the failure lies in the meeting of transactions or in the
    // connection, and nothing can have been committed.
    [[nodiscard]] bool may_retry() const noexcept { return may_retry_; }

    [[nodiscard]] Engine engine() const noexcept override { return Engine::Postgres; }
    [[nodiscard]] bool is_read_only() const noexcept override {
        return access_ == Access::ReadOnly;
    }

protected:
    Rows do_query(Sql sql, const Params& params) override;
    std::int64_t do_execute(Sql sql, const Params& params) override;
    void do_defer(Sql sql, const Params& params) override;
    void do_script(std::string_view text) override;
    void begin_savepoint(int depth) override;
    void release_savepoint(int depth) override;
    void undo_savepoint(int depth) override;
    [[nodiscard]] bool is_lost() const noexcept override { return connection_.is_lost(); }

private:
    Result run(std::string_view sql, const Params& params);
    Result flush();
    void wait(std::string sql) { waiting_.push_back({std::move(sql), {}}); }

    Connection& connection_;
    Access access_;
    std::vector<Command> waiting_;
    bool has_begun_ = false;     // BEGIN has been sent
    bool has_deferred_ = false;  // among what waits is a statement of the caller
    bool is_ended_ = false;
    bool may_retry_ = false;
    // Where in waiting_ the SAVEPOINT of each depth stands; nullopt once it was sent.
    std::vector<std::optional<std::size_t>> savepoints_;
};

// The commands that open a transaction: BEGIN and, behind a pooler, its settings.
[[nodiscard]] std::vector<Command> opening(Access access, const Settings& settings);

}  // namespace compute::store::postgres
