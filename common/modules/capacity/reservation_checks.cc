#include "modules/capacity/reservation_checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/reservation.h"

namespace compute::capacity {
namespace {

constexpr std::size_t kMaxFaults = 100;

// Rows of all tenants: the operator's own look.
constexpr store::Sql kRoots(
    "select b.node_id, b.gpu_uuid, b.milli, b.cpu_milli, b.memory_mib, b.starts_at, b.ends_at, "
    "n.cpu_milli, n.memory_mib from bookings b join nodes n on n.id = b.node_id "
    "where b.parent_id is null and b.ends_at > $1 order by b.node_id, b.starts_at, b.id"
);
constexpr store::Sql kStrays(
    "select b.id, b.holder_id, coalesce(r.state, 'gone') from bookings b left join reservations r "
    "on r.id = b.holder_id and r.tenant_id = b.tenant_id where b.id >= $1 and b.id < $2 "
    "and b.holder_type = 'reservation' and "
    "(r.id is null or r.state in ('draft', 'awaiting-confirmation', 'denied') "
    "or (r.state = 'pending' and b.ends_at > r.updated_at) "
    "or (r.state = 'failed' and b.ends_at > r.closed_at) "
    "or (r.state in ('ended', 'released') and b.ends_at > r.closed_at + r.cleanup_seconds * 1000) "
    "or (r.state in ('placed', 'active') and b.ends_at > r.ends_at + r.cleanup_seconds * 1000)) "
    "order by b.id limit 100"
);
constexpr store::Sql kChildren(
    "select c.id, c.parent_id from bookings c where c.id >= $1 and c.id < $2 "
    "and c.parent_id is not null and not exists ("
    "select 1 from bookings p where p.holder_id = c.parent_id and p.parent_id is null "
    "and p.tenant_id = c.tenant_id and p.node_id = c.node_id "
    "and (c.gpu_uuid is null or (p.gpu_uuid = c.gpu_uuid and p.milli >= c.milli)) "
    "and p.starts_at <= c.starts_at and p.ends_at >= c.ends_at) order by c.id limit 100"
);
constexpr store::Sql kStuckDrafts(
    "select count(*), min(updated_at) from reservations where state in ('draft', "
    "'awaiting-confirmation', 'denied') and next_timer_at < $1"
);
constexpr EpochMs kStuckAfterMs = 3'600'000;

// What is in use of one thing over time: the sum must never pass its limit.
class Sweep {
public:
    explicit Sweep(std::int64_t limit) : limit_(limit) {}
    void add(EpochMs from, EpochMs to, std::int64_t amount) {
        steps_[from] += amount;
        steps_[to] -= amount;
    }
    [[nodiscard]] std::optional<EpochMs> first_excess() const {
        std::int64_t sum = 0;
        for (const auto& [at, change] : steps_) {
            sum += change;
            if (sum > limit_) {
                return at;
            }
        }
        return std::nullopt;
    }

private:
    std::int64_t limit_;
    std::map<EpochMs, std::int64_t> steps_;
};

std::vector<method::Finding> find_stuck_drafts(method::CheckContext& context) {
    const EpochMs now = context.clock.now_ms();
    const store::Rows rows =
        context.database.query(kStuckDrafts, {now - kStuckAfterMs}, store::Purpose::Background);
    const std::int64_t count = rows.front().get_int(0);
    if (count == 0) {
        return {};
    }
    method::Finding finding;
    finding.check = "capacity.stuck-drafts";
    finding.severity = method::Severity::Warning;
    finding.message = std::to_string(count) +
                      " reservations that were never allowed should have "
                      "been removed an hour ago";
    finding.fix = "run a serve process with the controllers role; its capacity.timers removes them";
    finding.count = count;
    return {std::move(finding)};
}

}  // namespace

std::vector<std::string> double_bookings(store::Transaction& tx, EpochMs after) {
    std::map<std::string, Sweep> sweeps;
    for (const store::Row& row : tx.query(kRoots, {after})) {
        const std::string& node = row.get_text(0);
        const EpochMs from = row.get_int(5);
        const EpochMs to = row.get_int(6);
        if (const auto gpu = row.find_text(1)) {
            sweeps.try_emplace("GPU " + *gpu, kWholeGpu)
                .first->second.add(from, to, row.get_int(2));
        }
        sweeps.try_emplace("CPU of " + node, row.get_int(7))
            .first->second.add(from, to, row.get_int(3));
        sweeps.try_emplace("memory of " + node, row.get_int(8))
            .first->second.add(from, to, row.get_int(4));
    }
    std::vector<std::string> faults;
    for (const auto& [what, sweep] : sweeps) {
        if (const auto at = sweep.first_excess(); at && faults.size() < kMaxFaults) {
            faults.push_back(what + " at " + iso_time(*at));
        }
    }
    return faults;
}

std::vector<std::string> stray_bookings(
    store::Transaction& tx, const std::string& first, const std::string& before
) {
    std::vector<std::string> faults;
    for (const store::Row& row : tx.query(kStrays, {first, before})) {
        faults.push_back(
            "booking " + row.get_text(0) + " of " + row.get_text(1) + ", which is " +
            row.get_text(2)
        );
    }
    for (const store::Row& row : tx.query(kChildren, {first, before})) {
        faults.push_back("booking " + row.get_text(0) + " lies outside of " + row.get_text(1));
    }
    return faults;
}

std::vector<method::Check> reservation_checks() {
    return {{.id = "capacity.stuck-drafts", .run = find_stuck_drafts}};
}

}  // namespace compute::capacity
