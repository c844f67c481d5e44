// Redelivering from the command line: by ids or by a filter, on the database or over HTTP. What was
// asked goes in, counts come out; how it is shown is the command's business.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/target.h"
#include "modules/events/operator/redeliver.h"

namespace compute::cli {

struct RedeliverySummary {
    std::string job_id;  // empty when there was no job
    std::int64_t matched = 0;
    std::int64_t redelivered = 0;
    std::vector<events::SkippedDelivery> skipped;
    bool is_dry_run = false;
    bool is_unfinished = false;  // interrupted; a job can be resumed
    std::string first_untried;   // of ids, when interrupted

    [[nodiscard]] bool is_clean() const {
        return matched > 0 && skipped.empty() && !is_unfinished &&
               (is_dry_run || redelivered == matched);
    }
};
[[nodiscard]] Json to_json(const RedeliverySummary& summary);

using OnProgress = std::function<void(std::int64_t done)>;

struct IdRequest {
    std::string tenant;  // may be empty on a database
    std::vector<std::string> ids;
    std::optional<int> rate;  // at most so many a second
};

// One call of webhooks/redeliver for each id. A refusal is a skipped one, the others go on; a
// server that asks to wait is waited for.
[[nodiscard]] RedeliverySummary redeliver_ids(
    Target& target, const IdRequest& request, const OnProgress& on_progress
);

// What redeliver_ids would do, without doing it.
[[nodiscard]] RedeliverySummary examine_ids(Target& target, const IdRequest& request);

// The deliveries a filter names, asked page by page over HTTP; the filter names one tenant.
[[nodiscard]] std::vector<std::string> ids_over_http(
    Target& target, const events::RedeliverFilter& filter
);

// Makes a job on the database; returns its id.
[[nodiscard]] std::string create_redeliver_job(Plane& plane, const events::RedeliverFilter& filter);

// Runs a job on the database until it is done or interrupted; `summary` so far is in the job's own
// counts.
[[nodiscard]] RedeliverySummary run_redeliver_job(
    Plane& plane, const std::string& job_id, std::optional<int> rate, const OnProgress& on_progress
);

}  // namespace compute::cli
