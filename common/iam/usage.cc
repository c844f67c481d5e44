#include "iam/usage.h"

#include <chrono>

namespace compute::iam {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::sys_days;

constexpr double kMillisecondsPerHour = 3'600'000;

// On PostgreSQL each connection has its slot: the row stays locked until the commit is durable, and
// one row would let a tenant's bookings commit only one after another.
constexpr store::Sql kAdd(
    "insert into iam_usage (tenant_id, day, gpu_milliseconds) values ($1, $2, $3) "
    "on conflict (tenant_id, day) do update set gpu_milliseconds = iam_usage.gpu_milliseconds + "
    "excluded.gpu_milliseconds",
    "insert into iam_usage (tenant_id, day, gpu_milliseconds, slot) "
    "values ($1, $2, $3, pg_backend_pid() % 64) on conflict (tenant_id, day, slot) do update set "
    "gpu_milliseconds = iam_usage.gpu_milliseconds + excluded.gpu_milliseconds"
);
constexpr store::Sql kSpent(
    "select cast(coalesce(sum(gpu_milliseconds), 0) as bigint) from iam_usage "
    "where tenant_id = $1 and day >= $2 and day < $3"
);
constexpr store::Sql kBudgets(
    "select name, limit_gpu_hours, spend_window from iam_budgets where tenant_id = $1 and "
    "is_enforced = 1 order by name"
);

sys_days day_of(EpochMs time) {
    return std::chrono::floor<days>(std::chrono::sys_time<milliseconds>(milliseconds(time)));
}
std::int64_t day_number(EpochMs time) {
    return day_of(time).time_since_epoch().count();
}
EpochMs start_of(sys_days day) {
    return milliseconds(day.time_since_epoch()).count();
}

}  // namespace

SpendWindow spend_window(std::string_view window, EpochMs now) {
    const sys_days today = day_of(now);
    if (window == "day") {
        return {start_of(today), start_of(today + days(1))};
    }
    const std::chrono::year_month_day date(today);
    const auto first = date.year() / date.month() / 1;
    return {start_of(sys_days(first)), start_of(sys_days(first + std::chrono::months(1)))};
}

void add_usage(
    store::Transaction& tx, const TenantId& tenant_id, EpochMs at, std::int64_t gpu_milliseconds
) {
    tx.defer(kAdd, {tenant_id, day_number(at), gpu_milliseconds});
}

std::int64_t usage_gpu_milliseconds(
    store::Transaction& tx, const TenantId& tenant_id, const SpendWindow& window
) {
    return tx.get_row(kSpent, {tenant_id, day_number(window.from), day_number(window.until)})
        .get_int(0);
}

std::optional<std::string> find_exceeded_budget(
    store::Transaction& tx, const TenantId& tenant_id, EpochMs now, double gpu_hours
) {
    for (const store::Row& budget : tx.query(kBudgets, {tenant_id})) {
        const auto spent = static_cast<double>(
            usage_gpu_milliseconds(tx, tenant_id, spend_window(budget.get_text(2), now))
        );
        if (spent + gpu_hours * kMillisecondsPerHour >
            budget.get_double(1) * kMillisecondsPerHour) {
            return budget.get_text(0);
        }
    }
    return std::nullopt;
}

}  // namespace compute::iam
