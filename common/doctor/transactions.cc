#include "doctor/transactions.h"

#include <nlohmann/json.hpp>

namespace compute::doctor {

namespace {

constexpr store::Sql kOpen =
    "select pid::bigint, (extract(epoch from clock_timestamp() - xact_start) * 1000)::bigint, "
    "coalesce(datname::text, ''), coalesce(application_name, ''), coalesce(state, '')"
    " from pg_stat_activity where pid <> pg_backend_pid() and xact_start is not null and "
    "(backend_xid is not null or backend_xmin is not null or state like 'idle in transaction%')"
    " and backend_type = 'client backend' order by xact_start limit 20";

}  // namespace

std::vector<OpenTransaction> open_transactions(store::Database& database) {
    std::vector<OpenTransaction> open;
    for (const store::Row& row : database.query(kOpen)) {
        open.push_back(
            {.pid = row.get_int(0),
             .age_ms = row.get_int(1),
             .database = row.get_text(2),
             .application = row.get_text(3),
             .state = row.get_text(4)}
        );
    }
    return open;
}

std::vector<method::Finding> judge_transactions(const std::vector<OpenTransaction>& transactions) {
    std::vector<method::Finding> findings;
    for (const OpenTransaction& one : transactions) {
        if (one.age_ms <= kLongTransactionMs) {
            continue;
        }
        const std::string pid = std::to_string(one.pid);
        findings.push_back(
            {"core.long-transactions",
             method::Severity::Warning,
             "pid " + pid + " (" + one.application + ", " + one.state + ", database " +
                 one.database + ") has held a transaction open for " +
                 std::to_string(one.age_ms / 1000) + " s",
             "end it, or: select pg_terminate_backend(" + pid + ")",
             {},
             std::make_shared<const Json>(Json{{"pid", one.pid}, {"ageMs", one.age_ms}})}
        );
    }
    return findings;
}

}  // namespace compute::doctor
