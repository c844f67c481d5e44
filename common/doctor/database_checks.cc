// Checks of the database that belong to no module.
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "doctor/doctor.h"
#include "doctor/integrity.h"
#include "doctor/policies.h"
#include "doctor/reconcilers.h"
#include "doctor/transactions.h"

namespace compute::doctor {

namespace {

using method::CheckContext;
using method::Finding;
using method::Severity;

constexpr int kMinPostgresVersion = 140000;
constexpr std::int64_t kMaxClockDriftMs = 2000;

constexpr store::Sql kSqliteJournal = "select * from pragma_journal_mode";
constexpr store::Sql kPostgresSettings =
    "select name, setting from pg_settings where name in ('server_version_num', 'fsync', "
    "'full_page_writes', 'synchronous_commit')";
void check_postgres(CheckContext& context, std::vector<Finding>& findings) {
    for (const store::Row& row : context.database.query(kPostgresSettings)) {
        const std::string& name = row.get_text(0);
        const std::string& setting = row.get_text(1);
        if (name == "server_version_num") {
            if (std::atoi(setting.c_str()) < kMinPostgresVersion) {
                findings.push_back(
                    {kDatabaseCheckId,
                     Severity::Error,
                     context.database.engine_version() + " is too old",
                     "PostgreSQL 14 or newer is needed",
                     {},
                     {}}
                );
            }
        } else if (setting == "off") {
            findings.push_back(
                {kDatabaseCheckId,
                 Severity::Warning,
                 name + " is off: an answered change may be lost in a crash",
                 "set " + name + " = on in postgresql.conf",
                 {},
                 {}}
            );
        }
    }
}

void check_sqlite(CheckContext& context, std::vector<Finding>& findings) {
    const store::Rows rows = context.database.query(kSqliteJournal);
    if (!rows.empty() && rows.front().get_text(0) != "wal" &&
        rows.front().get_text(0) != "memory") {
        findings.push_back(
            {kDatabaseCheckId,
             Severity::Warning,
             "the journal mode is " + rows.front().get_text(0) + ", not wal",
             "start better-compute serve once, which sets it",
             {},
             {}}
        );
    }
    if (context.config.database.synchronous != "full") {
        findings.push_back(
            {kDatabaseCheckId,
             Severity::Warning,
             "database.synchronous is normal: power loss may take back the last answered changes",
             "set it to full",
             {},
             {}}
        );
    }
}

std::vector<Finding> check_database(CheckContext& context) {
    std::vector<Finding> findings;
    if (context.database.engine() == store::Engine::Sqlite) {
        check_sqlite(context, findings);
    } else {
        check_postgres(context, findings);
    }
    const auto faults = check_integrity(context);
    findings.insert(findings.end(), faults.begin(), faults.end());
    return findings;
}

std::vector<Finding> check_migrations(CheckContext& context) {
    constexpr const char* kId = "core.migrations";
    std::vector<Finding> findings;
    const auto status = store::migration_status(context.database, context.migrations);
    for (const std::string& message : status.drift) {
        findings.push_back(
            {kId,
             Severity::Error,
             message,
             "run the release that applied it, or restore the backup taken before",
             {},
             {}}
        );
    }
    if (!status.pending.empty()) {
        findings.push_back(
            {kId,
             Severity::Error,
             "not applied yet: " + status.pending.front() +
                 (status.pending.size() > 1 ? " and others" : ""),
             "better-compute migrate",
             static_cast<std::int64_t>(status.pending.size()),
             std::make_shared<const Json>(Json{{"pending", status.pending}})}
        );
    }
    return findings;
}

std::vector<Finding> check_clock(CheckContext& context) {
    const std::int64_t before = context.clock.now_ms();
    const std::int64_t database = context.database.database_now_ms();
    const std::int64_t after = context.clock.now_ms();
    // What the question itself took is no drift.
    const std::int64_t drift = database < before  ? before - database
                               : database > after ? database - after
                                                  : 0;
    if (drift <= kMaxClockDriftMs) {
        return {};
    }
    return {
        {"core.clock",
         Severity::Warning,
         "this host's clock and the database's are " + std::to_string(drift) + " ms apart",
         "run a time service (chrony, systemd-timesyncd) on both",
         {},
         {}}};
}

std::vector<Finding> check_long_transactions(CheckContext& context) {
    return context.database.engine() == store::Engine::Postgres
               ? judge_transactions(open_transactions(context.database))
               : std::vector<Finding>();
}

}  // namespace

std::vector<method::Check> database_checks(const std::vector<method::Module>& modules) {
    // core.migrations before all that reads tables of ours: the runner stops behind it while
    // something is pending.
    return {
        {kDatabaseCheckId, check_database},
        {"core.clock", check_clock},
        {"core.long-transactions", check_long_transactions},
        {"core.migrations", check_migrations},
        {"core.reconcilers",
         [&modules](CheckContext& context) { return check_reconcilers(context, modules); }},
        {"iam.policies",
         [&modules](CheckContext& context) { return check_policies(context, modules); }},
    };
}

}  // namespace compute::doctor
