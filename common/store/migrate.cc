#include "store/migrate.h"

#include <algorithm>
#include <set>

#include "crypto/crypto.h"

namespace compute::store {
namespace {

constexpr Sql kHasTable{
    "select count(*) from sqlite_schema where type = 'table' and name = 'schema_migrations'",
    "select count(*) from pg_class where oid = to_regclass('schema_migrations')"};
constexpr Sql kCreateTable =
    "create table if not exists schema_migrations ("
    "position integer not null unique, name text primary key, applied_at bigint not null, checksum "
    "text not null)";
constexpr Sql kSelectApplied =
    "select name, applied_at, checksum from schema_migrations order by position";
constexpr Sql kInsertApplied =
    "insert into schema_migrations (position, name, applied_at, checksum) "
    "select coalesce(max(position), 0) + 1, $1, $2, $3 from schema_migrations";

// One key for all of our databases; a lock is per database. SQLite needs none: BEGIN IMMEDIATE is
// one.
constexpr std::string_view kLockWait = "set local lock_timeout = '10min'";
constexpr std::string_view kLock = "select pg_advisory_xact_lock(7161420250924)";

std::string_view text_of(const Migration& migration, Engine engine) {
    return engine == Engine::Sqlite ? migration.sqlite : migration.postgres;
}

std::string checksum_of(std::string_view text) {
    return crypto::to_hex(crypto::sha256(text));
}

std::vector<AppliedMigration> read_applied(Transaction& tx) {
    std::vector<AppliedMigration> applied;
    if (tx.get_row(kHasTable).get_int(0) == 0) {
        return applied;
    }
    for (const Row& row : tx.query(kSelectApplied)) {
        applied.push_back(
            {.name = row.get_text(0), .applied_at = row.get_int(1), .checksum = row.get_text(2)}
        );
    }
    return applied;
}

const Migration* find_migration(const std::vector<Migration>& migrations, std::string_view name) {
    const auto found = std::find_if(migrations.begin(), migrations.end(), [&](const Migration& m) {
        return m.name == name;
    });
    return found == migrations.end() ? nullptr : &*found;
}

MigrationStatus compare(
    std::vector<AppliedMigration> applied, const std::vector<Migration>& migrations, Engine engine
) {
    MigrationStatus status;
    std::set<std::string_view> seen;
    for (const AppliedMigration& entry : applied) {
        seen.insert(entry.name);
        const Migration* known = find_migration(migrations, entry.name);
        if (known == nullptr) {
            status.drift.push_back(
                entry.name + ": applied, but unknown to this binary (a newer one was here)"
            );
        } else if (checksum_of(text_of(*known, engine)) != entry.checksum) {
            status.drift.push_back(entry.name + ": its text is not the one that was applied");
        }
    }
    for (const Migration& migration : migrations) {
        if (!seen.contains(migration.name)) {
            status.pending.emplace_back(migration.name);
        }
    }
    status.applied = std::move(applied);
    return status;
}

// Takes the migration lock for the length of the transaction.
void lock_migrations(Transaction& tx) {
    if (tx.engine() == Engine::Postgres) {
        tx.execute(kLockWait);
        tx.query(kLock);
    }
}

// Judged inside the transaction that applies: another process may have been faster while this one
// waited for the lock.
bool apply(
    Database& database,
    const Migration& migration,
    const std::vector<Migration>& migrations,
    std::int64_t now_ms
) {
    return database.write(
        [&](Transaction& tx) {
            lock_migrations(tx);
            const MigrationStatus status = compare(read_applied(tx), migrations, tx.engine());
            if (std::find(status.pending.begin(), status.pending.end(), migration.name) ==
                status.pending.end()) {
                return false;
            }
            const std::string_view text = text_of(migration, tx.engine());
            tx.script(text);
            tx.execute(kInsertApplied, {migration.name, now_ms, checksum_of(text)});
            return true;
        },
        Purpose::Background
    );
}

}  // namespace

MigrationStatus migration_status(Database& database, const std::vector<Migration>& migrations) {
    std::vector<AppliedMigration> applied =
        database.read([](Transaction& tx) { return read_applied(tx); }, Purpose::Background);
    return compare(std::move(applied), migrations, database.engine());
}

std::vector<std::string> migrate_up(
    Database& database,
    const std::vector<Migration>& migrations,
    std::int64_t now_ms,
    const std::function<void(std::string_view)>& on_apply
) {
    const MigrationStatus status = migration_status(database, migrations);
    if (!status.drift.empty()) {
        throw invalid_config(
            "migrations: " + status.drift.front(),
            "use the binary that this database was migrated with, or restore a backup"
        );
    }
    std::vector<std::string> names;
    if (status.pending.empty()) {
        return names;
    }
    database.write(
        [](Transaction& tx) {
            lock_migrations(tx);
            tx.execute(kCreateTable);
        },
        Purpose::Background
    );
    for (const std::string& name : status.pending) {
        const Migration& migration = *find_migration(migrations, name);
        if (on_apply) {
            on_apply(name);
        }
        // If the process dies here or inside, the migration is either applied and recorded or
        // neither.
        if (apply(database, migration, migrations, now_ms)) {
            names.push_back(name);
        }
    }
    return names;
}

}  // namespace compute::store
