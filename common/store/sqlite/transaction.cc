#include "store/sqlite/transaction.h"

#include <string>

namespace compute::store::sqlite {

Rows SqliteTransaction::do_query(Sql sql, const Params& params) {
    return connection_.query(sql.sqlite, params);
}

std::int64_t SqliteTransaction::do_execute(Sql sql, const Params& params) {
    return connection_.execute(sql.sqlite, params);
}

void SqliteTransaction::do_defer(Sql sql, const Params& params) {
    connection_.execute(sql.sqlite, params);
}

void SqliteTransaction::do_script(std::string_view text) {
    connection_.script(text);
}

void SqliteTransaction::begin_savepoint(int depth) {
    connection_.execute("savepoint s" + std::to_string(depth));
}

void SqliteTransaction::release_savepoint(int depth) {
    connection_.execute("release s" + std::to_string(depth));
}

void SqliteTransaction::undo_savepoint(int depth) {
    const std::string name = std::to_string(depth);
    connection_.execute("rollback to s" + name);
    connection_.execute("release s" + name);
}

bool SqliteTransaction::is_lost() const noexcept {
    return connection_.is_autocommit();
}

}  // namespace compute::store::sqlite
