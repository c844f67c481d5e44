// What counts for a quota, and the test against it.
#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/capacity/quota.h"

namespace compute::capacity {
namespace {

constexpr EpochMs kForever = std::numeric_limits<EpochMs>::max();
constexpr std::int64_t kMilliSecondsPerHour = 3'600'000;  // GPU milli × seconds in one GPU hour

// Locks what it answers, in the order of the key, so the tenant's own rows come first.
constexpr store::Sql kSelectScopes(
    "select project_id, pool_id, gpu_model, limits from quotas "
    "where tenant_id = $1 and project_id in ('', $2) order by project_id, pool_id, gpu_model",
    "select project_id, pool_id, gpu_model, limits from quotas "
    "where tenant_id = $1 and project_id in ('', $2) order by project_id, pool_id, gpu_model "
    "for update"
);

// A project's bookings are those whose reservation is in it. $2 project, $3 pool, $4 model; '' is
// every one.
#define BOOKED_IN_SCOPE                                                                         \
    "b.tenant_id = $1 and b.parent_id is null and b.gpu_uuid is not null "                      \
    "and ($2 = '' or exists (select 1 from reservations h where h.id = b.holder_id and "        \
    "h.tenant_id = $1 and h.project_id = $2)) "                                                 \
    "and ($3 = '' or b.pool_id = $3) "                                                          \
    "and ($4 = '' or exists (select 1 from node_gpus g where g.node_id = b.node_id and g.uuid " \
    "= b.gpu_uuid and g.model = $4)) "
#define CLAIMS_IN_SCOPE \
    "r.tenant_id = $1 and ($2 = '' or r.project_id = $2) and ($3 = '' or r.pool_id = $3) "

constexpr store::Sql kSelectBooked(
    "select b.starts_at, b.ends_at, cast(sum(b.milli) as bigint) from bookings b "
    "where " BOOKED_IN_SCOPE
    "and b.ends_at > $5 and b.starts_at < $6 and b.holder_id <> $7 "
    "group by b.starts_at, b.ends_at"
);
constexpr store::Sql kSelectPending(
    "select r.requested_start, r.duration_seconds, r.cleanup_seconds, r.gpu_count * r.gpu_milli, "
    "r.request from reservations r where r.state = 'pending' and " CLAIMS_IN_SCOPE
);
// Claims with a place: how many, and their GPU milli times seconds. The states are spelled as the
// index of charged claims has them, or SQLite would not use it.
#define PLACED "r.state in ('pending', 'placed', 'active') and r.state <> 'pending' "
constexpr store::Sql kTally(
    "select count(*), cast(coalesce(sum(r.gpu_count * r.gpu_milli * ((r.ends_at - r.starts_at) / "
    "1000)), 0) as bigint) from reservations r where " PLACED "and $4 = '' and " CLAIMS_IN_SCOPE
);
// The same of what they hold of one model. A card that was lost is held no more: its booking ends
// before the claim.
constexpr store::Sql kTallyOfModel(
    "select count(*), cast(coalesce(sum(c.milli * c.seconds), 0) as bigint) from ("
    "select (r.ends_at - r.starts_at) / 1000 as seconds, "
    "(select sum(b.milli) from bookings b where b.holder_id = r.id and b.ends_at >= r.ends_at "
    "and " BOOKED_IN_SCOPE ") as milli from reservations r where " PLACED "and " CLAIMS_IN_SCOPE
    ") c where c.milli > 0"
);

// Capacity that is charged for a while.
struct Span {
    EpochMs starts_at = 0;
    EpochMs ends_at = 0;
    std::int64_t gpu_milli = 0;
};

struct Peak {
    std::int64_t gpu_milli = 0;
    EpochMs at = 0;
};

// The highest sum within [from, to), and the first instant that has it.
Peak peak_of(const std::vector<Span>& spans, EpochMs from, EpochMs to) {
    std::vector<std::pair<EpochMs, std::int64_t>>
        steps;  // ends sort before starts: windows are half-open
    for (const Span& span : spans) {
        if (span.starts_at < to && span.ends_at > from) {
            steps.emplace_back(std::max(span.starts_at, from), span.gpu_milli);
            steps.emplace_back(span.ends_at, -span.gpu_milli);
        }
    }
    std::sort(steps.begin(), steps.end());
    Peak peak{.gpu_milli = 0, .at = from};
    std::int64_t sum = 0;
    for (const auto& [at, change] : steps) {
        sum += change;
        if (sum > peak.gpu_milli && at < to) {
            peak = {.gpu_milli = sum, .at = at};
        }
    }
    return peak;
}

// A claim that waits. One that wants to start as soon as possible may start at any time from now
// on.
struct Pending {
    Span span;
    std::int64_t milli_seconds = 0;
};

// Reads what counts for one scope, each part when it is asked for.
class Book {
public:
    Book(store::Transaction& tx, const QuotaScope& scope) : tx_(tx), scope_(scope) {}

    [[nodiscard]] Peak peak(EpochMs from, EpochMs to, const std::string& without) {
        std::vector<Span> spans;
        store::Params params = scope_params();
        params.insert(params.end(), {from, to, without});
        for (const store::Row& row : tx_.query(kSelectBooked, params)) {
            spans.push_back({row.get_int(0), row.get_int(1), row.get_int(2)});
        }
        for (const Pending& claim : pending()) {
            spans.push_back(claim.span);
        }
        return peak_of(spans, from, to);
    }

    [[nodiscard]] std::int64_t reservations() {
        return tally().first + static_cast<std::int64_t>(pending().size());
    }

    // GPU milli times seconds.
    [[nodiscard]] std::int64_t committed() {
        std::int64_t sum = tally().second;
        for (const Pending& claim : pending()) {
            sum += claim.milli_seconds;
        }
        return sum;
    }

private:
    [[nodiscard]] store::Params scope_params() const {
        return {scope_.tenant_id, scope_.project_id, scope_.pool_id, scope_.gpu_model};
    }

    const std::vector<Pending>& pending() {
        if (!pending_) {
            pending_.emplace();
            for (const store::Row& row :
                 tx_.query(kSelectPending, {scope_.tenant_id, scope_.project_id, scope_.pool_id})) {
                add_pending(row);
            }
        }
        return *pending_;
    }

    void add_pending(const store::Row& row) {
        if (!scope_.gpu_model.empty()) {
            const Json request = Json::parse(row.get_text(4));
            const auto models = request.find("gpuModels");
            if (models != request.end() && !models->empty() &&
                std::find(models->begin(), models->end(), scope_.gpu_model) == models->end()) {
                return;
            }
        }
        const auto start = row.find_int(0);
        const std::int64_t duration = row.get_int(1);
        const std::int64_t milli = row.get_int(3);
        const EpochMs end = start ? *start + (duration + row.get_int(2)) * 1000 : kForever;
        pending_->push_back(
            {.span = {start.value_or(0), end, milli}, .milli_seconds = milli * duration}
        );
    }

    const std::pair<std::int64_t, std::int64_t>& tally() {
        if (!tally_) {
            const store::Row row =
                tx_.get_row(scope_.gpu_model.empty() ? kTally : kTallyOfModel, scope_params());
            tally_.emplace(row.get_int(0), row.get_int(1));
        }
        return *tally_;
    }

    store::Transaction& tx_;
    const QuotaScope& scope_;
    std::optional<std::vector<Pending>> pending_;
    std::optional<std::pair<std::int64_t, std::int64_t>> tally_;
};

// Hours, rounded up to three decimals.
double hours(std::int64_t milli_seconds) {
    constexpr double kThousandths = 1000;
    return std::ceil(static_cast<double>(milli_seconds) / kMilliSecondsPerHour * kThousandths) /
           kThousandths;
}

[[noreturn]] void refuse(
    const QuotaScope& scope,
    const std::string& resource,
    std::int64_t limit,
    const Json& used,
    const Json& requested,
    EpochMs at
) {
    const bool is_tenant = scope.project_id.empty();
    Json details{
        {"scope", is_tenant ? "tenant" : "project"},
        {"resource", resource},
        {"limit", limit},
        {"used", used},
        {"requested", requested},
        {"at", at}};
    std::string about = is_tenant ? "the tenant" : "the project";
    if (!is_tenant) {
        details["projectId"] = scope.project_id;
    }
    if (!scope.pool_id.empty()) {
        details["poolId"] = scope.pool_id;
        about += " in this pool";
    }
    if (!scope.gpu_model.empty()) {
        details["gpuModel"] = scope.gpu_model;
        about += " on " + scope.gpu_model;
    }
    throw ComputeError(
        ErrorCode::QuotaExceeded,
        resource + ": " + about + " is limited to " + std::to_string(limit) + ", " + used.dump() +
            " in use and " + requested.dump() + " more requested",
        {.details = std::make_shared<const Json>(std::move(details)),
         .log_detail = {},
         .hint = "ask for less or for another time, or have the limit raised (quotas.set)"}
    );
}

// How much of the claim counts for a scope; nothing when it does not count there at all.
std::optional<std::int64_t> share_of(const QuotaScope& scope, const QuotaRequest& request) {
    if (!scope.pool_id.empty() && scope.pool_id != request.pool_id.str()) {
        return std::nullopt;
    }
    if (scope.gpu_model.empty() || request.models.empty()) {
        return request.gpu_milli;
    }
    const auto found = request.models.find(scope.gpu_model);
    return found == request.models.end() ? std::nullopt : std::optional(found->second);
}

void check_limit(
    Book& book,
    const QuotaScope& scope,
    const std::string& resource,
    std::int64_t limit,
    const QuotaRequest& request,
    std::int64_t milli,
    EpochMs now
) {
    if (resource == kGpuMilli) {
        const EpochMs from = request.starts_at.value_or(now);
        const EpochMs to = request.starts_at && request.duration_seconds
                               ? from + (*request.duration_seconds + request.cleanup_seconds) * 1000
                               : kForever;
        const Peak peak = book.peak(from, to, request.extends);
        if (peak.gpu_milli + milli > limit) {
            refuse(scope, resource, limit, peak.gpu_milli, milli, peak.at);
        }
    } else if (resource == kGpuHours) {
        const std::int64_t more = milli * request.duration_seconds.value_or(0);
        const std::int64_t used = book.committed();
        if (used + more > limit * kMilliSecondsPerHour) {
            refuse(
                scope, resource, limit, quantity_json(hours(used)), quantity_json(hours(more)), now
            );
        }
    } else if (resource == request.kind && request.extends.empty()) {
        const std::int64_t used = resource == "reservations" ? book.reservations() : 0;
        if (used + 1 > limit) {
            refuse(scope, resource, limit, used, 1, now);
        }
    }
}

}  // namespace

void check_quota(store::Transaction& tx, const QuotaRequest& request, EpochMs now) {
    const std::string project = request.project_id ? request.project_id->str() : "";
    for (const store::Row& row : tx.query(kSelectScopes, {request.tenant_id, project})) {
        const QuotaScope scope{
            .tenant_id = request.tenant_id,
            .project_id = row.get_text(0),
            .pool_id = row.get_text(1),
            .gpu_model = row.get_text(2)};
        const auto milli = share_of(scope, request);
        if (!milli) {
            continue;
        }
        const auto limits = Json::parse(row.get_text(3)).get<Limits>();
        Book book(tx, scope);
        for (const std::string& resource : quota_resources()) {
            if (const auto limit = limits.find(resource); limit != limits.end()) {
                check_limit(book, scope, resource, limit->second, request, *milli, now);
            }
        }
    }
}

Json quantity_json(double quantity) {
    return quantity == std::floor(quantity) ? Json(static_cast<std::int64_t>(quantity))
                                            : Json(quantity);
}

std::map<std::string, Usage> quota_usage(
    store::Transaction& tx, const QuotaScope& scope, EpochMs now
) {
    std::map<std::string, Usage> usage;
    for (const std::string& resource : quota_resources()) {
        usage[resource];  // what has no rows yet is not in use
    }
    Book book(tx, scope);
    const Peak peak = book.peak(now, kForever, "");
    usage[kGpuMilli] = {.used = static_cast<double>(peak.gpu_milli), .peak_at = peak.at};
    usage[kGpuHours].used = hours(book.committed());
    usage["reservations"].used = static_cast<double>(book.reservations());
    return usage;
}

}  // namespace compute::capacity
