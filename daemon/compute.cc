#include "daemon/compute.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "crypto/crypto.h"
#include "daemon/iam_port.h"
#include "daemon/modules.h"
#include "iam/denial_log.h"
#include "outbox/outbox.h"

namespace compute::daemon {
namespace {

store::Options store_options(
    const config::Config& config, const ComputeOptions& options, Log& log
) {
    store::Options out;
    out.url = config.database.url;
    out.synchronous = config.database.synchronous == "normal" ? store::Synchronous::Normal
                                                              : store::Synchronous::Full;
    out.pool_size = config.database.pool_size;
    out.prepared = config.database.prepared;
    out.create = options.create_database;
    out.log = &log;
    return out;
}

void settle_migrations(
    store::Database& database,
    const std::vector<store::Migration>& migrations,
    const Clock& clock,
    const ComputeOptions& options
) {
    const store::MigrationStatus status = store::migration_status(database, migrations);
    if (!status.drift.empty()) {
        throw invalid_config(
            "database: " + status.drift.front(),
            "use the binary that migrated this database, or restore the migration"
        );
    }
    if (status.pending.empty()) {
        return;
    }
    const bool may_apply = options.migrations == MigrationPolicy::Apply ||
                           (options.migrations == MigrationPolicy::ApplyOnSqlite &&
                            database.engine() == store::Engine::Sqlite);
    if (!may_apply) {
        throw invalid_config(
            "database: " + std::to_string(status.pending.size()) +
                " migrations are pending, the first is " + status.pending.front(),
            "run: better-compute migrate"
        );
    }
    store::migrate_up(database, migrations, clock.now_ms(), options.on_migrate);
}

std::vector<method::Module> modules_of(
    const config::Config& config, const ComputeOptions& options
) {
    if (options.modules != nullptr) {
        return *options.modules;
    }
    return all_modules(config);
}

// Refusals on their way from the envelope to the denial log.
class Denials final : public method::DenialSink {
public:
    void add(const method::Refusal& refusal) noexcept override {
        try {
            log.record({
                .at = refusal.time,
                .code = std::string(error_info(refusal.code).name),
                .path = refusal.path,
                .request_id = refusal.request_id,
                .tenant_id = refusal.tenant_id,
                .identity_id = refusal.identity_id,
                .action = refusal.action,
                .resource = refusal.resource,
                .reason = refusal.reason,
                .source_ip = refusal.source_ip,
            });
        } catch (const std::bad_alloc&) {
            // The log is for people; an answer is worth more than its line in it.
        }
    }

    iam::DenialLog log;
};

constexpr std::chrono::milliseconds kDenialInterval{5000};

}  // namespace

struct Compute::Impl {
    Impl(config::Config config_in, ComputeOptions options)
        : config(std::move(config_in)),
          log(options.log != nullptr ? *options.log : null_log()),
          clock(options.clock != nullptr ? *options.clock : system_clock),
          rng(options.rng != nullptr ? *options.rng : crypto::system_rng()),
          modules(modules_of(config, options)),
          migrations(migrations_of(modules)),
          catalog(catalog_of(modules, config)) {
        // Before the database is touched: a bad method is a fault of the binary or a plugin,
        // whatever the data.
        for (const method::Module& module : modules) {
            registry.add(module);
        }
        registry.initialize();
        database = store::open_database(store_options(config, options, log));
        settle_migrations(*database, migrations, clock, options);
        if (options.iam == nullptr) {
            own_iam = make_iam(config, *database, clock, rng);
        }
        runtime.emplace(method::Runtime{
            .database = *database,
            .iam = own_iam.port ? *own_iam.port : *options.iam,
            .clock = clock,
            .rng = rng,
            .log = log,
            .config = config,
            .wake = wake,
            .catalog = catalog,
        });
        envelope = std::make_unique<method::Envelope>(
            registry, *runtime, method::EnvelopeOptions{.denials = &denials}
        );
    }

    config::Config config;
    SystemClock system_clock;
    Log& log;
    Clock& clock;
    Rng& rng;
    std::vector<method::Module> modules;
    std::vector<store::Migration> migrations;
    outbox::EventCatalog catalog;
    method::Registry registry;
    WakeHub wake;
    std::unique_ptr<store::Database> database;
    IamChoice own_iam;
    std::optional<method::Runtime> runtime;
    Denials denials;
    std::unique_ptr<method::Envelope> envelope;
};

Compute::Compute(config::Config config, ComputeOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(options))) {}

Compute::~Compute() = default;

Json Compute::call(method::Call call) {
    return impl_->envelope->run(std::move(call));
}

Json Compute::call_as(const iam::Session& session, iam::IamPort& port, method::Call call) {
    return impl_->envelope->run_as(session, port, std::move(call));
}

std::vector<method::Reconciler> Compute::own_reconcilers() {
    method::Reconciler denials;
    denials.name = "iam.denials";
    denials.interval = kDenialInterval;
    denials.run = [this](const method::Runtime& runtime
                  ) -> std::optional<std::chrono::milliseconds> {
        impl_->denials.log.flush(runtime.database);
        return std::nullopt;
    };
    std::vector<method::Reconciler> all = impl_->own_iam.reconcilers;
    all.push_back(std::move(denials));
    return all;
}

void Compute::flush() {
    impl_->denials.log.flush(*impl_->database);
}

void Compute::start() {
    if (outbox::adopt_cluster(*impl_->database)) {
        impl_->runtime->log.warning(
            "outbox.cluster_adopted", {{"location", impl_->database->location()}}
        );
    }
    for (const method::Module& module : impl_->modules) {
        if (module.on_start) {
            module.on_start(*impl_->runtime);
        }
    }
}

const config::Config& Compute::config() const noexcept {
    return impl_->config;
}
store::Database& Compute::database() noexcept {
    return *impl_->database;
}
const method::Runtime& Compute::runtime() const noexcept {
    return *impl_->runtime;
}
const method::Registry& Compute::registry() const noexcept {
    return impl_->registry;
}
const std::vector<method::Module>& Compute::modules() const noexcept {
    return impl_->modules;
}
const std::vector<store::Migration>& Compute::migrations() const noexcept {
    return impl_->migrations;
}
const method::Outcomes& Compute::outcomes() const noexcept {
    return impl_->envelope->outcomes();
}
WakeHub& Compute::wake() noexcept {
    return impl_->wake;
}

}  // namespace compute::daemon
