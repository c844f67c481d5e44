// Redelivering many: an operator's filter becomes a durable job that goes through the queue in
// batches. Each batch is one transaction with its audit row and its place in the job, so a job may
// be interrupted anywhere and resumed: nothing is redelivered twice by it (what is put back is
// pending and no longer matches), nothing is passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "iam/port.h"
#include "method/context.h"
#include "modules/events/model.h"

namespace compute::events {

inline constexpr int kRedeliverBatch = 500;

struct RedeliverFilter {
    std::optional<TenantId> tenant_id;  // nullopt: every tenant
    std::optional<std::string> webhook_id;
    std::vector<DeliveryState> states = {DeliveryState::Dead};  // never Pending
    std::optional<std::string> type_pattern;                    // as in a webhook
    std::optional<EpochMs> since;                               // queued at or after
    std::optional<EpochMs> until;                               // queued before
    std::optional<std::int64_t> limit;                          // deliveries in all
};

enum class JobState { Running = 0, Done = 1, Cancelled = 2 };
[[nodiscard]] std::string_view job_state_name(JobState state) noexcept;

struct RedeliverJob {
    std::string id;  // rdj_...
    RedeliverFilter filter;
    JobState state = JobState::Running;
    std::int64_t matched = 0;  // looked at so far
    std::int64_t redelivered = 0;
    std::int64_t skipped = 0;
    std::string created_by;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;
};

struct SkippedDelivery {
    std::string id;
    std::string code;  // "NOT_FOUND": its webhook is paused
    std::string message;
};

struct JobStep {
    RedeliverJob job;  // as it is after the step
    std::vector<SkippedDelivery> skipped;
};

// Throws INVALID_INPUT for a state that cannot be redelivered, a malformed pattern, or a limit
// below 1.
void check_filter(const RedeliverFilter& filter);

// How many deliveries the filter matches now (bounded by its limit).
[[nodiscard]] std::int64_t count_matching(store::Database& database, const RedeliverFilter& filter);

// `caller` is the operator whom the job and its audit rows name.
[[nodiscard]] RedeliverJob create_job(
    const method::Runtime& runtime, const iam::Caller& caller, const RedeliverFilter& filter
);
// The same in a transaction that is open.
[[nodiscard]] RedeliverJob create_job(
    store::Transaction& tx,
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const RedeliverFilter& filter
);
// One batch of at most `batch`. NOT_FOUND for an unknown job; a job that is done or cancelled stays
// as it is.
JobStep step_job(
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const std::string& job_id,
    int batch = kRedeliverBatch
);
// Steps until the job is done, cancelled, or `is_cancelled` says so; at most `rate` deliveries a
// second when given. `on_step` is called after each batch.
RedeliverJob run_job(
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const std::string& job_id,
    std::optional<int> rate,
    const std::function<void(const JobStep&)>& on_step,
    const std::function<bool()>& is_cancelled
);

[[nodiscard]] std::optional<RedeliverJob> find_job(
    store::Database& database, const std::string& job_id
);
[[nodiscard]] std::vector<RedeliverJob> list_jobs(
    store::Database& database, int limit = 100
);  // newest first
// Ends a running job where it is; returns it. NOT_FOUND when there is none.
RedeliverJob cancel_job(const method::Runtime& runtime, const std::string& job_id);
// The same in a transaction that is open.
RedeliverJob cancel_job(
    store::Transaction& tx, const method::Runtime& runtime, const std::string& job_id
);
// A job to go on with: running or done. NOT_FOUND; INVALID_STATE when it was cancelled.
[[nodiscard]] RedeliverJob get_job_to_resume(store::Transaction& tx, const std::string& job_id);

[[nodiscard]] Json job_json(const RedeliverJob& job);

// The tenant of a delivery, for commands that name deliveries only.
[[nodiscard]] std::optional<TenantId> find_tenant_of_delivery(
    store::Database& database, const std::string& delivery_id
);

}  // namespace compute::events
