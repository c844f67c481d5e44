#include "cli/redelivery.h"

#include <nlohmann/json.hpp>

#include "cli/interrupt.h"
#include "modules/events/patterns.h"

namespace compute::cli {

namespace {

constexpr int kPage = 200;

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
    Target& target,
    const std::string& tenant,
    const std::vector<std::string>& ids,
    const OnProgress& on_progress
) {
    RedeliverySummary summary;
    for (const std::string& id : ids) {
        if (is_interrupted()) {
            summary.is_unfinished = true;
            break;
        }
        std::string owner = tenant;
        if (owner.empty() && target.plane() != nullptr) {
            const auto found =
                events::find_tenant_of_delivery(target.plane()->compute().database(), id);
            owner = found ? found->str() : "";
        }
        if (owner.empty()) {
            summary.skipped.push_back({id, "NOT_FOUND", "there is no such delivery"});
            continue;
        }
        try {
            static_cast<void>(
                target.call("webhooks/redeliver", {{"tenantId", owner}, {"deliveryId", id}})
            );
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
