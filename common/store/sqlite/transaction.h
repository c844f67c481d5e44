// A transaction on an SQLite connection. Whoever makes it begins and ends it.
#pragma once

#include "store/sqlite/connection.h"
#include "store/transaction_base.h"

namespace compute::store::sqlite {

enum class Access { ReadOnly, ReadWrite };

class SqliteTransaction final : public TransactionBase {
public:
    SqliteTransaction(Connection& connection, Access access, Counting::Cell& counting)
        : TransactionBase(counting), connection_(connection), access_(access) {}

    [[nodiscard]] Engine engine() const noexcept override { return Engine::Sqlite; }
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
    [[nodiscard]] bool is_lost() const noexcept override;

private:
    Connection& connection_;
    Access access_;
};

}  // namespace compute::store::sqlite
