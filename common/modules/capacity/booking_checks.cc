#include "modules/capacity/booking_checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/placement/node_pool.h"
#include "modules/capacity/placement_rows.h"
#include "modules/capacity/reservation_checks.h"

namespace compute::capacity {
namespace {

constexpr std::size_t kMaxFaults = 100;
constexpr std::size_t kNodesAtOnce = 128;
constexpr std::int64_t kBookingsAtOnce = 5'000;

// Rows of all tenants: the operator's own look.
constexpr store::Sql kNodes("select " NODE_CHANGE_COLUMNS
                            " from nodes n where n.removed_at is null order by n.changed_in desc");
constexpr store::Sql kPage(
    "select min(id) from (select id from bookings where id < $1 order by id desc limit $2) as page"
);
constexpr store::Sql kLost(
    "select n.id, n.name, count(*) from nodes n join bookings b on b.node_id = n.id "
    "and b.ends_at > $1 where n.connection = 'lost' group by n.id, n.name order by n.id limit 100"
);

class Budget {
public:
    explicit Budget(method::CheckContext& context)
        : context_(&context), end_(context.clock.steady_ms() + context.budget.count()) {}
    [[nodiscard]] bool is_used() const {
        return !context_->is_deep && context_->clock.steady_ms() > end_;
    }

private:
    method::CheckContext* context_;
    std::int64_t end_;
};

// The faults as one error, and what was not read as a remark.
std::vector<method::Finding> findings(
    const char* check,
    std::vector<std::string> faults,
    const std::string& what,
    const char* fix,
    const std::string& unread
) {
    std::vector<method::Finding> all;
    if (!faults.empty()) {
        all.push_back(
            {.check = check,
             .severity = method::Severity::Error,
             .message = what + ": " + faults.front(),
             .fix = fix,
             .count = static_cast<std::int64_t>(faults.size()),
             .details = nullptr}
        );
        all.back().details = std::make_shared<const Json>(Json{{"faults", std::move(faults)}});
    }
    if (!unread.empty()) {
        all.push_back(
            {.check = check,
             .severity = method::Severity::Info,
             .message = unread,
             .fix = "run `better-compute doctor --deep` to read everything",
             .count = std::nullopt,
             .details = nullptr}
        );
    }
    return all;
}

void add_faults(std::vector<std::string>& faults, const IndexedNode& node) {
    for (std::size_t i = 0; i < node.use.size(); ++i) {
        const Timeline::Step step = node.use.step(i);
        if (step.host.cpu_milli > node.cpu_milli) {
            faults.push_back("CPU of " + node.id + " at " + iso_time(step.at));
            break;
        }
        if (step.host.memory_mib > node.memory_mib) {
            faults.push_back("memory of " + node.id + " at " + iso_time(step.at));
            break;
        }
    }
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
        for (std::size_t i = 0; i < node.use.size(); ++i) {
            const Timeline::Step step = node.use.step(i);
            if (step.gpu_milli[gpu] > kWholeGpuMilli) {
                faults.push_back("GPU " + node.gpus[gpu].uuid + " at " + iso_time(step.at));
                break;
            }
        }
    }
}

std::vector<method::Finding> find_double_bookings(method::CheckContext& context) {
    const Budget budget(context);
    const EpochMs after = context.is_deep ? 0 : context.clock.now_ms();
    const store::Rows rows = context.database.query(kNodes, {}, store::Purpose::Background);
    std::vector<std::string> faults;
    std::size_t read = 0;
    while (read < rows.size() && faults.size() < kMaxFaults && !budget.is_used()) {
        std::vector<NodeState> states;
        for (; states.size() < kNodesAtOnce && read < rows.size(); ++read) {
            states.push_back(node_change_of(rows[read]).state);
        }
        context.database.read(
            [&](store::Transaction& tx) {
                std::vector<NodeState> full = states;
                read_gpus_and_bookings(tx, full, after);
                states = std::move(full);
            },
            store::Purpose::Background
        );
        NodePool pool;
        for (const NodeState& state : states) {
            add_faults(faults, pool.node(pool.put(state)));
        }
    }
    std::string unread;
    if (read < rows.size()) {
        unread = std::to_string(read) + " of " + std::to_string(rows.size()) +
                 " nodes were looked at, those that changed last";
    }
    return findings(
        "capacity.double-bookings",
        std::move(faults),
        "more is booked than there is",
        "release one of the reservations on what the details name, and report this defect",
        unread
    );
}

std::vector<method::Finding> find_stray_bookings(method::CheckContext& context) {
    const Budget budget(context);
    std::vector<std::string> faults;
    std::string before = "~";  // behind every id
    std::int64_t pages = 0;
    bool has_more = true;
    while (has_more && faults.size() < kMaxFaults && !budget.is_used()) {
        const auto first =
            context.database.query(kPage, {before, kBookingsAtOnce}, store::Purpose::Background)
                .front()
                .find_text(0);
        has_more = first.has_value();
        if (!first) {
            break;
        }
        const std::vector<std::string> found = context.database.read(
            [&](store::Transaction& tx) { return stray_bookings(tx, *first, before); },
            store::Purpose::Background
        );
        faults.insert(faults.end(), found.begin(), found.end());
        before = *first;
        ++pages;
    }
    return findings(
        "capacity.stray-bookings",
        std::move(faults),
        "capacity is held by nobody entitled to it",
        "report this defect with the details; the capacity comes free at the bookings' ends",
        has_more
            ? "the newest " + std::to_string(pages * kBookingsAtOnce) + " bookings were looked at"
            : std::string()
    );
}

std::vector<method::Finding> find_lost_nodes(method::CheckContext& context) {
    std::vector<std::string> faults;
    for (const store::Row& row :
         context.database.query(kLost, {context.clock.now_ms()}, store::Purpose::Background)) {
        faults.push_back(
            row.get_text(1) + " (" + row.get_text(0) + ") holds " + std::to_string(row.get_int(2)) +
            " bookings"
        );
    }
    return findings(
        "capacity.lost-nodes-with-bookings",
        std::move(faults),
        "lost nodes still hold bookings",
        "report this defect; `nodes.remove` with force takes a node and its bookings away",
        {}
    );
}

}  // namespace

std::vector<method::Check> booking_checks() {
    return {
        {.id = "capacity.double-bookings", .run = find_double_bookings},
        {.id = "capacity.stray-bookings", .run = find_stray_bookings},
        {.id = "capacity.lost-nodes-with-bookings", .run = find_lost_nodes}};
}

}  // namespace compute::capacity
