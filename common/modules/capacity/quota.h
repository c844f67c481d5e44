// Quotas: what a tenant, or one of its projects, may hold; on everything, in one pool, or of one
// GPU model. Only the limits are stored. What is in use is counted from bookings and claims each
// time, so it cannot drift from them.
//
// A claim is charged from the commit of its create (pending ones too) until it is over. GPUs are
// charged as root bookings are stored, cleanup included; a pending claim that wants to start as
// soon as possible is charged from now on without end, so that placing it later never exceeds what
// its create was tested against. It is charged to every model it may get.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "capacity/quota_limits.h"
#include "core/clock.h"
#include "core/ids.h"
#include "modules/capacity/pool.h"
#include "modules/capacity/project.h"
#include "store/database.h"

namespace compute::capacity {

// What a quota is about. Empty: the tenant itself; every pool; every model.
struct QuotaScope {
    TenantId tenant_id;
    std::string project_id;
    std::string pool_id;
    std::string gpu_model;
};

struct Quota {
    QuotaScope scope;
    Limits limits;
    std::int64_t version = 0;  // 0: never set
    std::string updated_by;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;
};

// The quota of a scope that was never given one.
[[nodiscard]] inline Quota unset_quota(QuotaScope scope) {
    Quota quota;
    quota.scope = std::move(scope);
    return quota;
}

// A claim about to be inserted or changed.
struct QuotaRequest {
    TenantId tenant_id;
    std::optional<ProjectId> project_id;
    PoolId pool_id;
    std::string kind = "reservations";  // the counted resource: reservations, instances, sandboxes
    std::optional<EpochMs> starts_at;   // absent: pending, as soon as possible
    std::optional<std::int64_t> duration_seconds;  // absent: without end
    std::int64_t cleanup_seconds = 0;
    std::int64_t gpu_milli = 0;  // of all its GPUs together
    // What it takes of each model; a pending claim names each model it may get with the whole
    // amount. Empty: any model.
    std::map<std::string, std::int64_t> models;
    // The reservation that this prolongs, when it is an extend: starts_at is then its old end. Its
    // own bookings are not counted twice, and it is no claim more.
    std::string extends;
};

// QUOTA_EXCEEDED with details {scope, resource, limit, used, requested, at} when the claim would
// take its tenant or its project over a limit. Call it in the transaction that inserts the claim
// and its bookings, before anything else is locked: on PostgreSQL it locks the scope's rows, the
// tenant's first, so that claims of one scope are tested one after the other.
void check_quota(store::Transaction& tx, const QuotaRequest& request, EpochMs now);

// What is in use of one resource.
struct Usage {
    double used = 0;                 // whole but for hours
    std::optional<EpochMs> peak_at;  // gpuMilli only: the first instant with the highest sum
};
// A quantity as it is shown: an integer when it is whole.
[[nodiscard]] Json quantity_json(double quantity);

// Everything that counts for `scope` from now on, by resource.
[[nodiscard]] std::map<std::string, Usage> quota_usage(
    store::Transaction& tx, const QuotaScope& scope, EpochMs now
);

[[nodiscard]] std::optional<Quota> find_quota(store::Transaction& tx, const QuotaScope& scope);
struct QuotaFilter {
    std::optional<std::string> project_id;
    std::optional<std::string> pool_id;
    std::optional<std::string> gpu_model;
    std::optional<QuotaScope> after;  // the page behind this one
    std::int64_t limit = 50;
};
// Those that limit something: the tenant's own first, then by project, pool and model.
[[nodiscard]] std::vector<Quota> list_quotas(
    store::Transaction& tx, const TenantId& tenant, const QuotaFilter& filter
);
// Writes limits and version + 1 if the stored version still is `quota.version` (0: none); false
// otherwise.
[[nodiscard]] bool put_quota(store::Transaction& tx, const Quota& quota);

}  // namespace compute::capacity
