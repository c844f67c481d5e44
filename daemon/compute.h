// The control plane in one object: database, IAM, catalog, registry and envelope put together from
// a configuration. `serve` puts HTTP and the workers around it; the command line calls it in
// process. Both go through the same envelope.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "method/envelope.h"
#include "method/module.h"
#include "method/registry.h"
#include "store/migrate.h"

namespace compute::daemon {

// What to do about a database that this binary's migrations are ahead of.
enum class MigrationPolicy {
    Refuse,         // INVALID_CONFIG, hint `better-compute migrate`
    ApplyOnSqlite,  // apply on SQLite, refuse on PostgreSQL
    Apply,
};

struct ComputeOptions {
    MigrationPolicy migrations = MigrationPolicy::Refuse;
    bool create_database = false;  // SQLite: make the file when it is missing
    // Called once for each migration before it is applied.
    std::function<void(std::string_view name)> on_migrate;
    // What tests put in place of the real ones; null: system clock, the operating system's
    // randomness, built_in_modules() and config.plugins, the IAM that config.iam.mode names. What
    // is pointed to outlives the Compute.
    Log* log = nullptr;
    Clock* clock = nullptr;
    Rng* rng = nullptr;
    iam::IamPort* iam = nullptr;
    std::vector<method::Module>* modules = nullptr;
};

// Thread-safe once constructed. `on_start` of the modules is run by start(), not by the
// constructor, so that a command which only calls methods changes nothing else.
class Compute {
public:
    // Opens the database, checks (or applies) the migrations, builds the registry and initializes
    // it. Throws INVALID_CONFIG for a bad configuration, module or schema, StoreBusy when the
    // database cannot be reached.
    explicit Compute(config::Config config, ComputeOptions options = {});
    ~Compute();
    Compute(const Compute&) = delete;
    Compute& operator=(const Compute&) = delete;

    // The in-process API: one call through the envelope; throws ComputeError.
    [[nodiscard]] Json call(method::Call call);
    // The same as `session` with a port of its own (deployment commands).
    [[nodiscard]] Json call_as(const iam::Session& session, iam::IamPort& port, method::Call call);

    // What the composition itself does again and again, in every process whatever its roles:
    // writing out refusals.
    [[nodiscard]] std::vector<method::Reconciler> own_reconcilers();

    // Writes out what waits in memory: refusals. For the end of a process.
    void flush();

    // Runs the modules' on_start. Once, after construction, before requests and reconcilers.
    void start();

    [[nodiscard]] const config::Config& config() const noexcept;
    [[nodiscard]] store::Database& database() noexcept;
    [[nodiscard]] const method::Runtime& runtime() const noexcept;
    [[nodiscard]] const method::Registry& registry() const noexcept;
    [[nodiscard]] const std::vector<method::Module>& modules() const noexcept;
    [[nodiscard]] const std::vector<store::Migration>& migrations() const noexcept;
    [[nodiscard]] const method::Outcomes& outcomes() const noexcept;
    [[nodiscard]] WakeHub& wake() noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::daemon
