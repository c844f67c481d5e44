#include "doctor/integrity.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace compute::doctor {

namespace {

using method::Finding;
using method::Severity;

// Reading this many rows of the smallest kind takes well under the budget on a slow disk.
constexpr std::int64_t kRowsPerPass = 200'000;

constexpr store::Sql kTables =
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by "
    "name";
constexpr store::Sql kCheckTable = "select * from pragma_quick_check($1)";
constexpr store::Sql kCheckAll = "select * from pragma_quick_check";

struct Table {
    std::string name;
    std::int64_t rows;  // counted no further than one past kRowsPerPass
};

// 0 when they cannot even be counted: then the table is read first, and quick_check says what is
// wrong with it.
std::int64_t count_rows(method::CheckContext& context, const std::string& sql) {
    try {
        return context.database.query(store::Sql(std::string_view(sql))).at(0).get_int(0);
    } catch (const ComputeError&) {
        return 0;
    }
}

std::vector<Table> tables_by_size(method::CheckContext& context) {
    std::vector<Table> tables;
    for (const store::Row& row : context.database.query(kTables)) {
        // A name from the schema, not from outside; quoted all the same.
        const std::string sql = "select count(*) from (select 1 from \"" + row.get_text(0) +
                                "\" limit " + std::to_string(kRowsPerPass + 1) + ")";
        tables.push_back({row.get_text(0), count_rows(context, sql)});
    }
    std::stable_sort(tables.begin(), tables.end(), [](const Table& a, const Table& b) {
        return a.rows < b.rows;
    });
    return tables;
}

Finding fault(const std::string& what) {
    return {
        kDatabaseCheckId,
        Severity::Error,
        "damaged: " + what,
        "stop every process and restore the last backup",
        {},
        {}};
}

// What quick_check says, and what keeps it from saying more: some damage ends the statement itself.
void add_faults(
    method::CheckContext& context,
    const store::Sql& check,
    const store::Params& params,
    const std::string& what,
    std::vector<Finding>& findings
) {
    try {
        for (const store::Row& row : context.database.query(check, params)) {
            if (row.get_text(0) != "ok") {
                findings.push_back(fault(row.get_text(0)));
            }
        }
    } catch (const ComputeError& error) {
        if (error.code() != ErrorCode::InternalError) {
            throw;
        }
        findings.push_back(fault(what + " cannot be read: " + error.log_detail()));
    }
}

}  // namespace

std::vector<Finding> check_integrity(method::CheckContext& context) {
    std::vector<Finding> findings;
    if (context.database.engine() != store::Engine::Sqlite) {
        return findings;
    }
    if (context.is_deep) {
        add_faults(context, kCheckAll, {}, "the file", findings);
        return findings;
    }
    const std::int64_t end = context.clock.steady_ms() + context.budget.count();
    std::int64_t rows_left = kRowsPerPass;
    std::string unread;
    for (const Table& table : tables_by_size(context)) {
        if (table.rows > rows_left || context.clock.steady_ms() >= end) {
            unread += (unread.empty() ? "" : ", ") + table.name;
            continue;
        }
        rows_left -= table.rows;
        add_faults(context, kCheckTable, {table.name}, table.name, findings);
    }
    if (!unread.empty()) {
        findings.push_back(
            {kDatabaseCheckId,
             Severity::Info,
             "not read for want of time: " + unread,
             "better-compute doctor --deep reads everything",
             {},
             {}}
        );
    }
    return findings;
}

}  // namespace compute::doctor
