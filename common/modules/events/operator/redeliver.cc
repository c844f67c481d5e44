#include "modules/events/operator/redeliver.h"

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "audit/audit.h"
#include "core/fail_point.h"
#include "core/json.h"
#include "modules/events/methods/methods.h"
#include "modules/events/patterns.h"

namespace compute::events {
namespace {

constexpr std::array<std::string_view, 3> kJobStates = {"running", "done", "cancelled"};

// $1 behind, $2 up to, $3 $4 $5 whether dead, cancelled, delivered count, $6 tenant, $7 webhook, $8
// type as a LIKE pattern (patterns have no % or _), $9 since, $10 until, $11 how many.
#define COMPUTE_MATCHING                                                                           \
    " from webhook_deliveries d join webhooks w on w.num = d.webhook join webhook_bodies b on "    \
    "b.event = d.event"                                                                            \
    " where d.seq > $1 and d.seq <= $2 and d.state in (1, 2, 3) and ((d.state = 2 and $3 = 1) or " \
    "(d.state = 3 and $4 = 1)"                                                                     \
    " or (d.state = 1 and $5 = 1)) and ($6 = '' or w.tenant_id = $6) and ($7 = '' or w.id = $7) "  \
    "and b.type like $8"                                                                           \
    " and d.queued_at >= $9 and d.queued_at < $10 order by d.seq limit $11"
constexpr const char* kMatching =
    "select d.seq, d.id, d.webhook, w.tenant_id, w.active" COMPUTE_MATCHING;
constexpr const char* kCountMatching =
    "select count(*) from (select d.seq" COMPUTE_MATCHING ") matching";
constexpr const char* kLastSeq = "select coalesce(max(seq), 0) from webhook_deliveries";

constexpr store::Sql kLockLanes(
    "select 1",
    "select webhook from webhook_lanes where webhook = any($1::bigint[]) order by webhook for "
    "update"
);
constexpr store::Sql kTouchLanes(
    "update webhook_lanes set due_at = $2 where webhook in (select value from json_each($1)) and "
    "token is null and due_at > $2",
    "update webhook_lanes set due_at = $2 where webhook = any($1::bigint[]) and token is null and "
    "due_at > $2"
);
constexpr store::Sql kRedeliverMany(
    "update webhook_deliveries set state = 0, attempts = 0, round = round + 1, next_at = $2, "
    "done_at = null, token = null,"
    " sent = 0, last_status = null, last_error = null where seq in (select value from "
    "json_each($1)) and state <> 0",
    "update webhook_deliveries set state = 0, attempts = 0, round = round + 1, next_at = $2, "
    "done_at = null, token = null,"
    " sent = 0, last_status = null, last_error = null where seq = any($1::bigint[]) and state <> 0"
);

#define COMPUTE_JOB_COLUMNS                                                                \
    "id, filter, state, after_seq, until_seq, matched, redelivered, skipped, created_by, " \
    "created_at, updated_at"
constexpr const char* kInsertJob = "insert into webhook_redelivery_jobs (" COMPUTE_JOB_COLUMNS
                                   ") values ($1, $2, 0, 0, $3, 0, 0, 0, $4, $5, $5)";
constexpr const char* kFindJob =
    "select " COMPUTE_JOB_COLUMNS " from webhook_redelivery_jobs where id = $1";
constexpr store::Sql kFindJobLocked(
    "select " COMPUTE_JOB_COLUMNS " from webhook_redelivery_jobs where id = $1",
    "select " COMPUTE_JOB_COLUMNS " from webhook_redelivery_jobs where id = $1 for update"
);
constexpr const char* kListJobs =
    "select " COMPUTE_JOB_COLUMNS
    " from webhook_redelivery_jobs order by created_at desc, id desc limit $1";
constexpr const char* kAdvanceJob =
    "update webhook_redelivery_jobs set state = $2, after_seq = $3, matched = $4, redelivered = "
    "$5, skipped = $6,"
    " updated_at = $7 where id = $1";
constexpr const char* kTenantOfDelivery =
    "select w.tenant_id from webhook_deliveries d join webhooks w on w.num = d.webhook where d.id "
    "= $1";

struct JobRow {
    RedeliverJob job;
    std::int64_t after_seq = 0;
    std::int64_t until_seq = 0;
};

Json filter_json(const RedeliverFilter& filter) {
    Json states = Json::array();
    for (const DeliveryState state : filter.states) {
        states.push_back(state_name(state));
    }
    Json out = {{"states", std::move(states)}};
    const auto put = [&](const char* name, const auto& value) {
        if (value) {
            out[name] = *value;
        }
    };
    if (filter.tenant_id) {
        out["tenantId"] = filter.tenant_id->str();
    }
    put("webhookId", filter.webhook_id);
    put("type", filter.type_pattern);
    put("since", filter.since);
    put("until", filter.until);
    put("limit", filter.limit);
    return out;
}

RedeliverFilter filter_from(const Json& json) {
    RedeliverFilter filter;
    filter.states.clear();
    for (const Json& state : json.at("states")) {
        filter.states.push_back(find_state(state.get<std::string>()).value_or(DeliveryState::Dead));
    }
    if (json.contains("tenantId")) {
        filter.tenant_id = TenantId(json["tenantId"].get<std::string>());
    }
    const auto take = [&]<class T>(const char* name, std::optional<T>& to) {
        if (const auto found = json.find(name); found != json.end()) {
            to = found->get<T>();
        }
    };
    take("webhookId", filter.webhook_id);
    take("type", filter.type_pattern);
    take("since", filter.since);
    take("until", filter.until);
    take("limit", filter.limit);
    return filter;
}

JobRow job_from(const store::Row& row) {
    JobRow out;
    out.job.id = row.get_text(0);
    out.job.filter = filter_from(Json::parse(row.get_text(1)));
    out.job.state = static_cast<JobState>(row.get_int(2));
    out.after_seq = row.get_int(3);
    out.until_seq = row.get_int(4);
    out.job.matched = row.get_int(5);
    out.job.redelivered = row.get_int(6);
    out.job.skipped = row.get_int(7);
    out.job.created_by = row.get_text(8);
    out.job.created_at = row.get_int(9);
    out.job.updated_at = row.get_int(10);
    return out;
}

store::Params matching_params(
    const RedeliverFilter& filter, std::int64_t after, std::int64_t until, std::int64_t limit
) {
    const auto wants = [&](DeliveryState state) {
        return std::find(filter.states.begin(), filter.states.end(), state) != filter.states.end()
                   ? 1
                   : 0;
    };
    std::string like = filter.type_pattern.value_or("*");
    if (like.ends_with('*')) {
        like.back() = '%';
    }
    return {
        after,
        until,
        wants(DeliveryState::Dead),
        wants(DeliveryState::Cancelled),
        wants(DeliveryState::Delivered),
        filter.tenant_id ? filter.tenant_id->str() : "",
        filter.webhook_id.value_or(""),
        like,
        filter.since.value_or(0),
        filter.until.value_or(kNever),
        limit,
    };
}

ComputeError job_not_found() {
    return not_found("job: not found");
}

struct Batch {
    store::IntList rows;
    store::IntList lanes;
    std::map<std::string, std::int64_t> by_tenant;
    std::vector<SkippedDelivery> skipped;
    std::int64_t last_seq = 0;
    std::int64_t size = 0;
};

Batch read_batch(store::Transaction& tx, const JobRow& row, std::int64_t limit) {
    Batch batch;
    for (const store::Row& found : tx.query(
             kMatching, matching_params(row.job.filter, row.after_seq, row.until_seq, limit)
         )) {
        ++batch.size;
        batch.last_seq = found.get_int(0);
        if (!found.get_bool(4)) {
            batch.skipped.push_back({found.get_text(1), "NOT_FOUND", "its webhook is paused"});
            continue;
        }
        batch.rows.push_back(found.get_int(0));
        batch.lanes.push_back(found.get_int(2));
        ++batch.by_tenant[found.get_text(3)];
    }
    std::sort(batch.lanes.begin(), batch.lanes.end());
    batch.lanes.erase(std::unique(batch.lanes.begin(), batch.lanes.end()), batch.lanes.end());
    return batch;
}

void write_audit(
    store::Transaction& tx,
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const RedeliverJob& job,
    const Batch& batch
) {
    for (const auto& [tenant, count] : batch.by_tenant) {
        audit::Entry entry;
        entry.caller = &caller;
        entry.tenant_id = TenantId(tenant);
        entry.method = "webhooks/redeliver";
        entry.action = kManageAction;
        entry.resource = {runtime.config.iam.resource_prefix + "tenant", tenant};
        entry.decision_reason = "operator of the deployment";
        entry.admission = std::make_shared<const Json>(Json{
            {"jobId", job.id}, {"redelivered", count}, {"filter", filter_json(job.filter)}});
        entry.request_id = job.id;
        audit::append(tx, entry, runtime.clock, runtime.rng);
    }
}

}  // namespace

std::string_view job_state_name(JobState state) noexcept {
    return kJobStates[static_cast<std::size_t>(state)];
}

void check_filter(const RedeliverFilter& filter) {
    if (filter.states.empty()) {
        throw invalid_input("state: at least one of dead, cancelled, delivered");
    }
    for (const DeliveryState state : filter.states) {
        if (state == DeliveryState::Pending) {
            throw invalid_input("state: pending deliveries are in the queue already");
        }
    }
    if (filter.type_pattern) {
        const schema::Shape shape =
            schema::string({.pattern = kPatternRegex, .max_length = kMaxPatternCharacters});
        static_cast<void>(shape.check(Json(*filter.type_pattern), "type"));
    }
    if (filter.limit && *filter.limit < 1) {
        throw invalid_input("limit: must be at least 1");
    }
}

std::int64_t count_matching(store::Database& database, const RedeliverFilter& filter) {
    check_filter(filter);
    return database
        .query(kCountMatching, matching_params(filter, 0, kNever, filter.limit.value_or(kNever)))
        .at(0)
        .get_int(0);
}

RedeliverJob create_job(
    store::Transaction& tx,
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const RedeliverFilter& filter
) {
    check_filter(filter);
    RedeliverJob job;
    job.id = new_id("rdj_", runtime.clock, runtime.rng);
    job.filter = filter;
    job.created_by = caller.identity_id.str();
    job.created_at = job.updated_at = runtime.clock.now_ms();
    const std::int64_t until = tx.get_row(kLastSeq).get_int(0);
    tx.execute(
        kInsertJob, {job.id, dump_json(filter_json(filter)), until, job.created_by, job.created_at}
    );
    return job;
}

RedeliverJob create_job(
    const method::Runtime& runtime, const iam::Caller& caller, const RedeliverFilter& filter
) {
    return runtime.database.write([&](store::Transaction& tx) {
        return create_job(tx, runtime, caller, filter);
    });
}

JobStep step_job(
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const std::string& job_id,
    int batch_size
) {
    JobStep step;
    bool has_redelivered = false;
    runtime.database.write([&](store::Transaction& tx) {
        step = {};
        const auto found = tx.find_row(kFindJobLocked, {job_id});
        if (!found) {
            throw job_not_found();
        }
        JobRow row = job_from(*found);
        step.job = row.job;
        if (row.job.state != JobState::Running) {
            return;
        }
        const std::int64_t left = row.job.filter.limit.value_or(kNever) - row.job.matched;
        const std::int64_t limit = std::min<std::int64_t>(batch_size, left);
        Batch batch = read_batch(tx, row, limit);
        const EpochMs now = runtime.clock.now_ms();
        std::int64_t redelivered = 0;
        if (!batch.rows.empty()) {
            if (tx.engine() == store::Engine::Postgres) {
                tx.defer(kLockLanes, {batch.lanes});
            }
            tx.defer(kTouchLanes, {batch.lanes, now});
            redelivered = tx.execute(kRedeliverMany, {batch.rows, now});
            write_audit(tx, runtime, caller, row.job, batch);
        }
        has_redelivered = redelivered > 0;
        step.job.matched += batch.size;
        step.job.redelivered += redelivered;
        step.job.skipped += static_cast<std::int64_t>(batch.skipped.size());
        step.job.updated_at = now;
        if (batch.size < limit || batch.size == left) {
            step.job.state = JobState::Done;
        }
        step.skipped = std::move(batch.skipped);
        tx.execute(
            kAdvanceJob,
            {job_id,
             static_cast<int>(step.job.state),
             std::max(batch.last_seq, row.after_seq),
             step.job.matched,
             step.job.redelivered,
             step.job.skipped,
             now}
        );
        fail_point("redeliver-before-commit");
    });
    if (has_redelivered) {
        runtime.wake.wake(kDeliveriesChannel);
        runtime.database.notify(kDeliveriesChannel);
    }
    return step;
}

RedeliverJob run_job(
    const method::Runtime& runtime,
    const iam::Caller& caller,
    const std::string& job_id,
    std::optional<int> rate,
    const std::function<void(const JobStep&)>& on_step,
    const std::function<bool()>& is_cancelled
) {
    const int batch = rate ? std::clamp(*rate, 1, kRedeliverBatch) : kRedeliverBatch;
    while (true) {
        const JobStep step = step_job(runtime, caller, job_id, batch);
        if (on_step) {
            on_step(step);
        }
        if (step.job.state != JobState::Running || (is_cancelled && is_cancelled())) {
            return step.job;
        }
        if (rate) {
            const std::int64_t pause_ms = 1000LL * batch / std::max(*rate, 1);
            runtime.clock.sleep(
                std::chrono::milliseconds(pause_ms),
                is_cancelled ? is_cancelled : [] { return false; }
            );
        }
    }
}

std::optional<RedeliverJob> find_job(store::Database& database, const std::string& job_id) {
    const store::Rows rows = database.query(kFindJob, {job_id});
    return rows.empty() ? std::nullopt : std::optional(job_from(rows.front()).job);
}

std::vector<RedeliverJob> list_jobs(store::Database& database, int limit) {
    std::vector<RedeliverJob> jobs;
    for (const store::Row& row : database.query(kListJobs, {limit})) {
        jobs.push_back(job_from(row).job);
    }
    return jobs;
}

RedeliverJob cancel_job(
    store::Transaction& tx, const method::Runtime& runtime, const std::string& job_id
) {
    const auto found = tx.find_row(kFindJobLocked, {job_id});
    if (!found) {
        throw job_not_found();
    }
    JobRow row = job_from(*found);
    if (row.job.state == JobState::Running) {
        row.job.state = JobState::Cancelled;
        row.job.updated_at = runtime.clock.now_ms();
        tx.execute(
            kAdvanceJob,
            {job_id,
             static_cast<int>(row.job.state),
             row.after_seq,
             row.job.matched,
             row.job.redelivered,
             row.job.skipped,
             row.job.updated_at}
        );
    }
    return row.job;
}

RedeliverJob cancel_job(const method::Runtime& runtime, const std::string& job_id) {
    return runtime.database.write([&](store::Transaction& tx) {
        return cancel_job(tx, runtime, job_id);
    });
}

RedeliverJob get_job_to_resume(store::Transaction& tx, const std::string& job_id) {
    const auto found = tx.find_row(kFindJob, {job_id});
    if (!found) {
        throw job_not_found();
    }
    RedeliverJob job = job_from(*found).job;
    if (job.state == JobState::Cancelled) {
        throw ComputeError(ErrorCode::InvalidState, "job: was cancelled");
    }
    return job;
}

Json job_json(const RedeliverJob& job) {
    return {
        {"id", job.id},
        {"state", job_state_name(job.state)},
        {"filter", filter_json(job.filter)},
        {"matched", job.matched},
        {"redelivered", job.redelivered},
        {"skipped", job.skipped},
        {"createdBy", job.created_by},
        {"createdAt", job.created_at},
        {"updatedAt", job.updated_at},
    };
}

std::optional<TenantId> find_tenant_of_delivery(
    store::Database& database, const std::string& delivery_id
) {
    const store::Rows rows = database.query(kTenantOfDelivery, {delivery_id});
    return rows.empty() ? std::nullopt : std::optional(TenantId(rows.front().get_text(0)));
}

}  // namespace compute::events
