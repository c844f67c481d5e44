#include "store/postgres/transaction.h"

#include <cstdlib>
#include <utility>

#include "store/postgres/encoding.h"

namespace compute::store::postgres {
namespace {

constexpr const char* kBeginRead = "begin isolation level repeatable read read only";
constexpr const char* kBeginWrite = "begin isolation level read committed read write";
constexpr const char* kLocalSettings =
    "select set_config('lock_timeout', $1, true), "
    "set_config('idle_in_transaction_session_timeout', '60000', true), "
    "set_config('synchronous_commit', $2, true)";

std::string savepoint_name(int depth) {
    return "s" + std::to_string(depth);
}

}  // namespace

std::vector<Command> opening(Access access, const Settings& settings) {
    std::vector<Command> commands{{access == Access::ReadOnly ? kBeginRead : kBeginWrite, {}}};
    if (!settings.is_prepared) {
        commands.push_back(
            {kLocalSettings,
             {std::to_string(settings.busy_timeout.count()),
              settings.is_synchronous ? "on" : "off"}}
        );
    }
    return commands;
}

PostgresTransaction::PostgresTransaction(
    Connection& connection, Access access, const Settings& settings, Counting::Cell& counting
)
    : TransactionBase(counting),
      connection_(connection),
      access_(access),
      waiting_(opening(access, settings)) {}

PostgresTransaction::~PostgresTransaction() {
    if (is_ended_ || !has_begun_ || connection_.is_lost()) {
        return;
    }
    try {
        connection_.send_only({"rollback", {}});
    } catch (const ComputeError&) {
        // The connection is gone, and the transaction with it.
    }
}

Result PostgresTransaction::flush() {
    const std::vector<Command> commands = std::exchange(waiting_, {});
    has_begun_ = true;
    has_deferred_ = false;
    for (auto& savepoint : savepoints_) {
        savepoint.reset();
    }
    try {
        return connection_.run(commands, commands.size() - 1);
    } catch (...) {
        may_retry_ = connection_.fault() && connection_.fault()->kind != FaultKind::Statement;
        throw;
    }
}

Result PostgresTransaction::run(std::string_view sql, const Params& params) {
    waiting_.push_back({std::string(sql), params});
    return flush();
}

Rows PostgresTransaction::do_query(Sql sql, const Params& params) {
    return rows_of(run(sql.postgres, params).get());
}

std::int64_t PostgresTransaction::do_execute(Sql sql, const Params& params) {
    const Result result = run(sql.postgres, params);
    return std::strtoll(PQcmdTuples(result.get()), nullptr, 10);
}

void PostgresTransaction::do_defer(Sql sql, const Params& params) {
    waiting_.push_back({std::string(sql.postgres), params});
    has_deferred_ = true;
}

void PostgresTransaction::do_script(std::string_view text) {
    if (!waiting_.empty()) {
        flush();
    }
    connection_.script(std::string(text));
}

// An error of what was deferred outside must not look like one of the inside.
void PostgresTransaction::begin_savepoint(int depth) {
    if (has_deferred_) {
        flush();
    }
    savepoints_.emplace_back(waiting_.size());
    wait("savepoint " + savepoint_name(depth));
}

void PostgresTransaction::release_savepoint(int depth) {
    wait("release savepoint " + savepoint_name(depth));
    if (has_deferred_) {
        flush();
    }
    savepoints_.pop_back();
}

void PostgresTransaction::undo_savepoint(int depth) {
    const std::optional<std::size_t> unsent = savepoints_.back();
    savepoints_.pop_back();
    may_retry_ = false;
    has_deferred_ = false;  // what was deferred outside was sent before the savepoint began
    if (unsent) {
        waiting_.resize(*unsent);
        return;
    }
    waiting_.clear();
    wait("rollback to savepoint " + savepoint_name(depth));
    wait("release savepoint " + savepoint_name(depth));
}

void PostgresTransaction::commit() {
    if (!has_begun_ && !has_deferred_) {
        return;  // nothing was asked of the server
    }
    is_ended_ = true;
    if (access_ == Access::ReadOnly && !has_deferred_) {
        connection_.send_only({"commit", {}});
        return;
    }
    wait("commit");
    Result result;
    try {
        result = flush();
    } catch (...) {
        // A connection lost here leaves the outcome unknown: COMMIT was on its way. Running again
        // could do everything twice.
        may_retry_ = may_retry_ && !connection_.is_lost();
        is_ended_ = false;
        throw;
    }
    if (std::string_view(PQcmdStatus(result.get())) != "COMMIT") {
        throw internal_error(
            "postgres: a commit ended as " + std::string(PQcmdStatus(result.get()))
        );
    }
}

}  // namespace compute::store::postgres
