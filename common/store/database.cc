#include "store/database.h"

#include "store/postgres/postgres_database.h"
#include "store/sqlite/sqlite_database.h"
#include "store/url.h"

namespace compute::store {
namespace {

constexpr std::string_view kSqlitePrefix = "sqlite:";
constexpr int kMaxPool = 512;

}  // namespace

Engine engine_of_url(std::string_view url) {
    if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
        return Engine::Postgres;
    }
    if ((url.starts_with(kSqlitePrefix) && url.size() > kSqlitePrefix.size()) ||
        (url.ends_with(".db") && url.find("://") == std::string_view::npos)) {
        return Engine::Sqlite;
    }
    // The url is not repeated: it may hold a password.
    throw invalid_config(
        "database.url: must be sqlite:PATH, a path that ends in .db, or postgresql://...",
        "for example: sqlite:./better-compute.db"
    );
}

std::string sqlite_path(std::string_view url) {
    return std::string(url.starts_with(kSqlitePrefix) ? url.substr(kSqlitePrefix.size()) : url);
}

std::unique_ptr<Database> open_database(const Options& options) {
    if (options.pool_size < 1 || options.pool_size > kMaxPool) {
        throw invalid_config("database.pool_size: must be 1 to " + std::to_string(kMaxPool));
    }
    return engine_of_url(options.url) == Engine::Sqlite ? sqlite::open_sqlite(options)
                                                        : postgres::open_postgres(options);
}

}  // namespace compute::store
