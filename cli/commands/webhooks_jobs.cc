// `webhooks jobs`: redeliveries by filter that were begun.
#include <nlohmann/json.hpp>

#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/redelivery.h"

namespace compute::cli::commands {

namespace {

void print_job(const CommonOptions& common, const Json& told, Console& console) {
    if (common.is_json) {
        console.json(told);
        return;
    }
    for (const auto& [name, value] : told.items()) {
        console.line(
            name + ": " + printable(value.is_string() ? value.get<std::string>() : value.dump())
        );
    }
}

int list_jobs(const CommonOptions& common, Plane& plane, Console& console) {
    const auto jobs = events::list_jobs(plane.compute().database());
    if (common.is_json) {
        Json items = Json::array();
        for (const events::RedeliverJob& job : jobs) {
            items.push_back(events::job_json(job));
        }
        console.json({{"items", items}});
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const events::RedeliverJob& job : jobs) {
        rows.push_back(
            {job.id,
             std::string(events::job_state_name(job.state)),
             std::to_string(job.matched),
             std::to_string(job.redelivered),
             std::to_string(job.skipped),
             job.created_by,
             iso_time(job.created_at)}
        );
    }
    console.table({"ID", "STATE", "MATCHED", "SENT AGAIN", "SKIPPED", "BY", "BEGUN"}, rows);
    return kExitOk;
}

struct JobFlags {
    std::string action = "list";
    std::string id;
    int rate = 0;
};

int resume(const CommonOptions& common, Plane& plane, const JobFlags& flags, Console& console) {
    static_cast<void>(plane.operate("redeliveryJobs/resume", {{"jobId", flags.id}}));
    watch_interrupts();
    const RedeliverySummary summary = run_redeliver_job(
        plane,
        flags.id,
        flags.rate > 0 ? std::optional(flags.rate) : std::nullopt,
        [](std::int64_t) {}
    );
    if (common.is_json) {
        console.json(to_json(summary));
    } else {
        console.line(
            std::to_string(summary.matched) + " matched, " + std::to_string(summary.redelivered) +
            " sent again, " + std::to_string(summary.skipped.size()) + " skipped now"
        );
    }
    return summary.is_unfinished || !summary.skipped.empty() ? kExitRefused : kExitOk;
}

int run_jobs(const CommonOptions& common, const JobFlags& flags, Console& console) {
    common.apply(console);
    const std::string& action = flags.action;
    if ((action == "list") != flags.id.empty()) {
        throw UsageError(
            action == "list" ? "jobs list: takes no id" : "jobs " + action + ": needs the job's id"
        );
    }
    if (flags.rate > 0 && action != "resume") {
        throw UsageError("--rate: has a meaning only with resume");
    }
    Plane plane(common.load());
    if (action == "list") {
        return list_jobs(common, plane, console);
    }
    if (action == "resume") {
        return resume(common, plane, flags, console);
    }
    if (action == "cancel") {
        print_job(common, plane.operate("redeliveryJobs/cancel", {{"jobId", flags.id}}), console);
        return kExitOk;
    }
    const auto job = events::find_job(plane.compute().database(), flags.id);
    if (!job) {
        throw not_found("there is no job " + flags.id);
    }
    print_job(common, events::job_json(*job), console);
    return kExitOk;
}

}  // namespace

void define_webhooks_jobs(const Definition& webhooks) {
    const Definition command = webhooks.sub(
        "jobs",
        "Redeliveries by filter: lists, shows, resumes or cancels them",
        "better-compute webhooks jobs list\nbetter-compute webhooks jobs resume "
        "rdj_01k5y3v0m6y8x7w5t4s3r2p1n0"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<JobFlags>();
    command.word("ACTION", flags->action, {"list", "show", "resume", "cancel"}, "What to do")
        ->capture_default_str();
    command.app().add_option("ID", flags->id, "The job");
    command.whole("--rate", flags->rate, {1, 1'000'000}, "With resume: at most so many a second");
    command.run([common, flags](Console& console) { return run_jobs(*common, *flags, console); });
}

}  // namespace compute::cli::commands
