// Migrations: what brings a database to the state this binary needs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace compute::store {

// One migration, its text embedded at build time from
// migrations/<module>/<NNNN>_<name>.<engine>.sql.
struct Migration {
    std::string_view name;  // "events/0001_webhooks"
    std::string_view sqlite;
    std::string_view postgres;
};

struct AppliedMigration {
    std::string name;
    std::int64_t applied_at;  // epoch ms
    std::string checksum;     // SHA-256 of the text, hex
};

struct MigrationStatus {
    std::vector<AppliedMigration> applied;  // in the order they were applied
    std::vector<std::string> pending;       // in the order they will be
    std::vector<std::string> drift;  // one message for each applied migration that changed, is
                                     // missing, or is unknown to this binary
};

// Every migration built into this binary, in order: modules by level, numbers ascending.
[[nodiscard]] const std::vector<Migration>& built_in_migrations();

// Reads only; a database without the migrations table has nothing applied.
[[nodiscard]] MigrationStatus migration_status(
    Database& database, const std::vector<Migration>& migrations
);

// Applies what is pending, each in a transaction of its own together with its row in
// schema_migrations, one process at a time (lock); returns the names applied. Throws INVALID_CONFIG
// naming the migration on drift, before anything is applied. If the process dies between two
// migrations, the next call goes on behind the last one.
std::vector<std::string> migrate_up(
    Database& database,
    const std::vector<Migration>& migrations,
    std::int64_t now_ms,
    const std::function<void(std::string_view name)>& on_apply = {}
);

}  // namespace compute::store
