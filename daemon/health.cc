#include "daemon/health.h"

#include <utility>

#include "core/error.h"

namespace compute::daemon {

Health::Health(
    store::Database& database,
    const std::vector<store::Migration>& migrations,
    std::vector<std::string> roles,
    const Clock& clock,
    Log& log
)
    : database_(database),
      migrations_(migrations),
      roles_(std::move(roles)),
      clock_(clock),
      log_(log) {}

std::string Health::probe_database() {
    try {
        static_cast<void>(database_.query("select 1", {}, store::Purpose::Background));
        return {};
    } catch (const ComputeError& error) {
        log_.warning(
            "health.database",
            {{"error", error.log_detail().empty() ? error.message() : error.log_detail()}}
        );
        return "the database does not answer";
    }
}

std::vector<std::string> Health::faults() {
    std::vector<std::string> faults;
    if (is_stopping_) {
        faults.emplace_back("stopping");
    } else if (!is_started_) {
        faults.emplace_back("starting");
    }
    const std::int64_t now = clock_.steady_ms();
    // A fresh finding is used again: a probe costs a round trip, and anybody may ask.
    const auto kept = probe_.with([&](const Probe& probe) {
        return probe.at_ms && now - *probe.at_ms < kProbeMs ? std::optional(probe.fault)
                                                            : std::nullopt;
    });
    std::string fault = kept ? *kept : probe_database();
    if (!kept) {
        probe_.with([&](Probe& probe) { probe = {now, fault}; });
    }
    if (!fault.empty()) {
        faults.push_back(std::move(fault));
    }
    schema_fault_.with([&](const std::string& schema) {
        if (!schema.empty()) {
            faults.push_back(schema);
        }
    });
    return faults;
}

void Health::check_schema() {
    const store::MigrationStatus status = store::migration_status(database_, migrations_);
    const bool is_other = !status.drift.empty() || !status.pending.empty();
    const std::string fault = is_other ? "the database has another schema than this binary" : "";
    const bool is_news =
        schema_fault_.with([&](std::string& kept) { return std::exchange(kept, fault) != fault; });
    if (is_news && is_other) {
        log_.error(
            "health.schema_changed",
            {{"difference",
              status.drift.empty() ? "pending: " + status.pending.front() : status.drift.front()},
             {"hint", "restart with the binary that migrated the database"}}
        );
    }
}

}  // namespace compute::daemon
