#include "store/migrate.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "audit/audit.h"
#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "cli/storage.h"
#include "config/checks.h"
#include "core/ids.h"
#include "crypto/crypto.h"
#include "daemon/modules.h"
#include "iam/operator_port.h"
#include "outbox/outbox.h"

namespace compute::cli::commands {

namespace {

// What is applied and pending; an embedded database that is not there yet has everything pending
// and is not made for asking.
store::MigrationStatus read_status(
    const config::Config& config, const std::vector<store::Migration>& migrations
) {
    if (!database_exists(config)) {
        store::MigrationStatus status;
        for (const store::Migration& migration : migrations) {
            status.pending.emplace_back(migration.name);
        }
        return status;
    }
    const auto database = open_database(config, Access::ReadOnly);
    return store::migration_status(*database, migrations);
}

int print_status(const store::MigrationStatus& status, bool is_json, Console& console) {
    if (is_json) {
        Json applied = Json::array();
        for (const store::AppliedMigration& one : status.applied) {
            applied.push_back(
                {{"name", one.name}, {"appliedAt", one.applied_at}, {"checksum", one.checksum}}
            );
        }
        Json pending = Json::array();
        for (const std::string& name : status.pending) {
            pending.push_back({{"name", name}});
        }
        console.json({{"applied", applied}, {"pending", pending}});
    } else {
        std::vector<std::vector<std::string>> rows;
        for (const store::AppliedMigration& one : status.applied) {
            rows.push_back({one.name, iso_time(one.applied_at)});
        }
        for (const std::string& name : status.pending) {
            rows.push_back({name, "pending"});
        }
        console.table({"MIGRATION", "APPLIED"}, rows);
    }
    return status.pending.empty() ? kExitOk : kExitRefused;
}

int verify(const store::MigrationStatus& status, bool is_json, Console& console) {
    if (is_json) {
        console.json({{"ok", status.drift.empty()}, {"drift", status.drift}});
    } else if (status.drift.empty()) {
        console.line(
            std::to_string(status.applied.size()) +
            " applied migrations are as this binary knows them"
        );
    }
    if (!is_json) {
        for (const std::string& message : status.drift) {
            console.error("INVALID_CONFIG", message, "");
        }
    }
    return status.drift.empty() ? kExitOk : kExitRefused;
}

int print_pending_sql(
    const config::Config& config,
    const std::vector<store::Migration>& migrations,
    bool is_json,
    Console& console
) {
    const auto status = read_status(config, migrations);
    const store::Engine engine = store::engine_of_url(config.database.url);
    Json list = Json::array();
    for (const store::Migration& migration : migrations) {
        if (std::find(status.pending.begin(), status.pending.end(), migration.name) ==
            status.pending.end()) {
            continue;
        }
        const std::string_view sql =
            engine == store::Engine::Sqlite ? migration.sqlite : migration.postgres;
        if (is_json) {
            list.push_back({{"name", migration.name}, {"sql", sql}});
        } else {
            console.line("-- " + std::string(migration.name));
            console.text(sql);
            console.line("");
        }
    }
    if (is_json) {
        console.json({{"pending", list}});
    }
    return kExitOk;
}

// The ledger of migrations says what and when, this row by whom. A process that dies before it
// leaves the ledger only: the row cannot stand in the migration's transaction, whose table it may
// be that is made.
void audit_migrations(
    store::Database& database, const config::Config& config, const std::vector<std::string>& names
) {
    SystemClock clock;
    const iam::Session session =
        iam::operator_session(iam::operating_system_user(), config.iam.root_tenant);
    audit::Entry entry;
    entry.caller = &session.caller;
    entry.tenant_id = TenantId(config.iam.root_tenant);
    entry.method = "migrate/up";
    entry.action = "compute:migrate:up";
    entry.resource = {config.iam.resource_prefix + iam::kFleetType, iam::kFleetId};
    entry.decision_reason = "operator";
    entry.admission = std::make_shared<const Json>(Json{{"applied", names}});
    entry.request_id = new_id("cli_", clock, crypto::system_rng());
    outbox::adopt_cluster(database);  // after a restore nothing may have been started yet
    database.write([&](store::Transaction& tx) {
        audit::append(tx, entry, clock, crypto::system_rng());
    });
}

int apply(
    const config::Config& config,
    const std::vector<store::Migration>& migrations,
    bool is_json,
    Console& console
) {
    const auto database = open_database(config, Access::Create);
    const auto names =
        migrate_up(*database, migrations, SystemClock().now_ms(), [&](std::string_view name) {
            console.note("applying " + std::string(name));
        });
    if (!names.empty()) {
        audit_migrations(*database, config, names);
    }
    if (is_json) {
        console.json({{"applied", names}});
    } else {
        console.line(
            names.empty() ? "nothing to apply"
                          : "applied " + std::to_string(names.size()) + " migrations"
        );
    }
    return kExitOk;
}

int migrate(
    const CommonOptions& common, const std::string& action, bool is_dry_run, Console& console
) {
    common.apply(console);
    if (is_dry_run && action != "up") {
        throw UsageError("--dry-run: only migrate up changes anything");
    }
    const config::Config config = common.load();
    const auto migrations = daemon::migrations_of(all_modules(config));
    if (action == "status") {
        return print_status(read_status(config, migrations), common.is_json, console);
    }
    if (action == "verify") {
        return verify(read_status(config, migrations), common.is_json, console);
    }
    return is_dry_run ? print_pending_sql(config, migrations, common.is_json, console)
                      : apply(config, migrations, common.is_json, console);
}

}  // namespace

void define_migrate(const Definition& definition) {
    const auto common = add_common(definition);
    const auto action = std::make_shared<std::string>("up");
    const auto is_dry_run = std::make_shared<bool>(false);
    definition
        .word(
            "ACTION",
            *action,
            {"up", "status", "verify"},
            "up applies what is pending; status lists; verify compares checksums"
        )
        ->capture_default_str();
    definition.app().add_flag(
        "--dry-run", *is_dry_run, "Prints the SQL that would run and changes nothing"
    );
    definition.run([common, action, is_dry_run](Console& console) {
        return migrate(*common, *action, *is_dry_run, console);
    });
}

}  // namespace compute::cli::commands
