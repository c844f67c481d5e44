#include "doctor/reconcilers.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

namespace compute::doctor {

namespace {

using method::Finding;
using method::Severity;

constexpr const char* kId = "core.reconcilers";
constexpr const char* kStart =
    "start better-compute serve with the controllers role; the log of the last one says why it "
    "ended";
// Processes write their heartbeats every ten seconds, however short the interval of the work is.
constexpr std::int64_t kMinQuietMs = 30'000;

constexpr store::Sql kHeartbeats =
    "select reconciler, process, interval_ms, beat_at, last_error from reconciler_heartbeats order "
    "by reconciler, process";

struct Heard {
    bool is_alive = false;
    std::string quiet_process;
    std::int64_t quiet_ms = 0;
    std::string last_error;
};

std::map<std::string, Heard> listen(method::CheckContext& context) {
    std::map<std::string, Heard> heard;
    const std::int64_t now = context.clock.now_ms();
    for (const store::Row& row : context.database.query(kHeartbeats)) {
        Heard& one = heard[row.get_text(0)];
        const std::int64_t quiet = now - row.get_int(3);
        if (quiet <= std::max(3 * row.get_int(2), kMinQuietMs)) {
            one.is_alive = true;
            one.last_error = row.find_text(4).value_or(one.last_error);
        } else {
            one.quiet_process = row.get_text(1);
            one.quiet_ms = quiet;
        }
    }
    return heard;
}

}  // namespace

std::vector<Finding> check_reconcilers(
    method::CheckContext& context, const std::vector<method::Module>& modules
) {
    const auto heard = listen(context);
    std::vector<Finding> findings;
    std::string missing;
    std::int64_t missing_count = 0;
    bool is_any_alive = false;
    for (const method::Module& module : modules) {
        for (const method::Reconciler& reconciler : module.reconcilers) {
            const auto found = heard.find(reconciler.name);
            if (found != heard.end() && found->second.is_alive) {
                is_any_alive = true;
                if (!found->second.last_error.empty()) {
                    findings.push_back(
                        {kId,
                         Severity::Warning,
                         reconciler.name + " failed in its last run: " + found->second.last_error,
                         "look into the log of serve",
                         {},
                         {}}
                    );
                }
            } else {
                missing += (missing.empty() ? "" : ", ") + reconciler.name;
                if (found != heard.end()) {
                    missing += " (quiet for " + std::to_string(found->second.quiet_ms / 1000) +
                               " s in " + found->second.quiet_process + ")";
                }
                ++missing_count;
            }
        }
    }
    if (missing_count > 0) {
        const std::string message = is_any_alive ? "nobody runs " + missing
                                                 : "no process with the controllers role is alive: "
                                                   "nothing is fanned out, delivered or pruned";
        findings.insert(
            findings.begin(), {kId, Severity::Warning, message, kStart, missing_count, {}}
        );
    }
    return findings;
}

}  // namespace compute::doctor
