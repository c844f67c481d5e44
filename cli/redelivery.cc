#include "cli/redelivery.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/interrupt.h"
#include "modules/events/operator/inspect.h"
#include "modules/events/patterns.h"

namespace compute::cli {

namespace {

constexpr int kPage = 200;
constexpr int kMaxWaits = 10;
constexpr std::int64_t kDefaultWaitMs = 1000;

// Spreads calls over time: at most `rate` a second, the first at once.
class Pacer {
public:
    explicit Pacer(std::optional<int> rate) : rate_(rate) {}

    void wait() {
        if (!rate_) {
            return;
        }
        const auto now = static_cast<double>(clock_.steady_ms());
        const double due = std::max(due_, now);
        due_ = due + 1000.0 / *rate_;
        clock_.sleep(
            std::chrono::milliseconds(static_cast<std::int64_t>(due - now)), is_interrupted
        );
    }

private:
    std::optional<int> rate_;
    SystemClock clock_;
    double due_ = 0;
};

// The call, again after the time a busy server asks for.
void redeliver_one(Target& target, const std::string& tenant, const std::string& id) {
    for (int waits = 0;; ++waits) {
        try {
            static_cast<void>(
                target.call("webhooks/redeliver", {{"tenantId", tenant}, {"deliveryId", id}})
            );
            return;
        } catch (const ComputeError& error) {
            const bool is_busy =
                error.code() == ErrorCode::RateLimited || error.code() == ErrorCode::StorageBusy;
            if (!is_busy || waits == kMaxWaits || is_interrupted()) {
                throw;
            }
            SystemClock().sleep(
                std::chrono::milliseconds(retry_after_ms(error).value_or(kDefaultWaitMs)),
                is_interrupted
            );
        }
    }
}

events::SkippedDelivery unknown_delivery(const std::string& id) {
    return {id, "NOT_FOUND", "there is no such delivery"};
}

std::string tenant_of(Target& target, const IdRequest& request, const std::string& id) {
    if (!request.tenant.empty() || target.plane() == nullptr) {
        return request.tenant;
    }
    const auto found = events::find_tenant_of_delivery(target.plane()->compute().database(), id);
    return found ? found->str() : "";
}

// Counts one delivery of a dry run: the words of a refusal are those of the call itself.
void judge(
    RedeliverySummary& summary, const std::string& id, const std::string& state, bool is_active
) {
    if (!is_active) {
        summary.skipped.push_back({id, "NOT_FOUND", "its webhook is paused"});
        return;
    }
    ++summary.matched;
    if (state == "pending") {
        summary.skipped.push_back({id, "INVALID_STATE", "delivery: is pending already"});
    }
}

void examine_on_database(Plane& plane, const IdRequest& request, RedeliverySummary& summary) {
    const method::Runtime& runtime = plane.compute().runtime();
    for (const std::string& id : request.ids) {
        const auto told =
            events::explain_delivery(runtime.database, runtime.config, id, runtime.clock.now_ms());
        const auto tenant = events::find_tenant_of_delivery(runtime.database, id);
        if (!told || !tenant || (!request.tenant.empty() && tenant->str() != request.tenant)) {
            summary.skipped.push_back(unknown_delivery(id));
            continue;
        }
        judge(
            summary,
            id,
            told->at("delivery").at("state").get<std::string>(),
            told->at("webhook").at("active").get<bool>()
        );
    }
}

// No method answers one delivery by its id, so the tenant's history is read until all are found.
void examine_on_server(Target& target, const IdRequest& request, RedeliverySummary& summary) {
    std::set<std::string> active;
    const Json webhooks = target.call("webhooks/list", {{"tenantId", request.tenant}});
    for (const Json& webhook : webhooks.at("items")) {
        if (webhook.at("active").get<bool>()) {
            active.insert(webhook.at("id").get<std::string>());
        }
    }
    std::set<std::string> wanted(request.ids.begin(), request.ids.end());
    Json input = {{"tenantId", request.tenant}, {"limit", kPage}};
    while (!wanted.empty()) {
        const Json page = target.call("webhooks/deliveries", input);
        for (const Json& delivery : page.at("items")) {
            const auto id = delivery.at("id").get<std::string>();
            if (wanted.erase(id) > 0) {
                judge(
                    summary,
                    id,
                    delivery.at("state").get<std::string>(),
                    active.contains(delivery.at("webhookId").get<std::string>())
                );
            }
        }
        if (!page.contains("nextCursor")) {
            break;
        }
        input["cursor"] = page.at("nextCursor");
    }
    for (const std::string& id : wanted) {
        summary.skipped.push_back(unknown_delivery(id));
    }
}

bool is_wanted(const Json& delivery, const events::RedeliverFilter& filter) {
    const auto queued = delivery.at("createdAt").get<EpochMs>();
    return (!filter.since || queued >= *filter.since) &&
           (!filter.until || queued < *filter.until) &&
           (!filter.type_pattern ||
            events::pattern_matches(
                *filter.type_pattern, delivery.at("eventType").get<std::string>()
            ));
}

}  // namespace

Json to_json(const RedeliverySummary& summary) {
    Json skipped = Json::array();
    for (const events::SkippedDelivery& one : summary.skipped) {
        skipped.push_back({{"id", one.id}, {"code", one.code}, {"message", one.message}});
    }
    Json out = {
        {"matched", summary.matched},
        {"redelivered", summary.redelivered},
        {"skipped", skipped},
        {"dryRun", summary.is_dry_run}};
    if (!summary.job_id.empty()) {
        out["jobId"] = summary.job_id;
    }
    return out;
}

RedeliverySummary redeliver_ids(
    Target& target, const IdRequest& request, const OnProgress& on_progress
) {
    RedeliverySummary summary;
    Pacer pacer(request.rate);
    for (const std::string& id : request.ids) {
        pacer.wait();
        if (is_interrupted()) {
            summary.is_unfinished = true;
            summary.first_untried = id;
            break;
        }
        const std::string owner = tenant_of(target, request, id);
        if (owner.empty()) {
            summary.skipped.push_back(unknown_delivery(id));
            continue;
        }
        try {
            redeliver_one(target, owner, id);
            ++summary.matched;
            ++summary.redelivered;
        } catch (const ComputeError& error) {
            // One of many: what is refused for a reason of its own is told and the rest goes on;
            // anything else ends the command.
            if (error.code() != ErrorCode::NotFound && error.code() != ErrorCode::InvalidState &&
                error.code() != ErrorCode::InvalidInput) {
                throw;
            }
            summary.matched += error.code() == ErrorCode::InvalidState ? 1 : 0;
            summary.skipped.push_back(
                {id, std::string(error_info(error.code()).name), error.message()}
            );
        }
        on_progress(summary.redelivered + static_cast<std::int64_t>(summary.skipped.size()));
    }
    return summary;
}

RedeliverySummary examine_ids(Target& target, const IdRequest& request) {
    RedeliverySummary summary;
    summary.is_dry_run = true;
    if (target.plane() != nullptr) {
        examine_on_database(*target.plane(), request, summary);
    } else {
        examine_on_server(target, request, summary);
    }
    return summary;
}

std::vector<std::string> ids_over_http(Target& target, const events::RedeliverFilter& filter) {
    std::vector<std::string> ids;
    for (const events::DeliveryState state : filter.states) {
        Json input = {
            {"tenantId", filter.tenant_id->str()},
            {"state", events::state_name(state)},
            {"limit", kPage}};
        if (filter.webhook_id) {
            input["webhookId"] = *filter.webhook_id;
        }
        while (true) {
            const Json page = target.call("webhooks/deliveries", input);
            for (const Json& delivery : page.at("items")) {
                if (filter.limit && static_cast<std::int64_t>(ids.size()) >= *filter.limit) {
                    return ids;
                }
                if (is_wanted(delivery, filter)) {
                    ids.push_back(delivery.at("id"));
                }
            }
            if (!page.contains("nextCursor")) {
                break;
            }
            input["cursor"] = page.at("nextCursor");
        }
    }
    return ids;
}

std::string create_redeliver_job(Plane& plane, const events::RedeliverFilter& filter) {
    Json input = {{"states", Json::array()}};
    for (const events::DeliveryState state : filter.states) {
        input["states"].push_back(events::state_name(state));
    }
    if (filter.tenant_id) {
        input["tenantId"] = filter.tenant_id->str();
    }
    const auto put = [&](const char* name, const auto& value) {
        if (value) {
            input[name] = *value;
        }
    };
    put("webhookId", filter.webhook_id);
    put("type", filter.type_pattern);
    put("since", filter.since);
    put("until", filter.until);
    put("limit", filter.limit);
    return plane.operate("redeliveryJobs/create", input).at("id").get<std::string>();
}

RedeliverySummary run_redeliver_job(
    Plane& plane, const std::string& job_id, std::optional<int> rate, const OnProgress& on_progress
) {
    RedeliverySummary summary;
    summary.job_id = job_id;
    const auto on_step = [&](const events::JobStep& step) {
        summary.skipped.insert(summary.skipped.end(), step.skipped.begin(), step.skipped.end());
        on_progress(step.job.matched);
    };
    const events::RedeliverJob job = events::run_job(
        plane.compute().runtime(), plane.session().caller, job_id, rate, on_step, is_interrupted
    );
    summary.matched = job.matched;
    summary.redelivered = job.redelivered;
    summary.is_unfinished = job.state == events::JobState::Running;
    return summary;
}

}  // namespace compute::cli
