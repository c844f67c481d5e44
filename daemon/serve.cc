#include "daemon/serve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "config/deployment_secret.h"
#include "core/json.h"
#include "core/log.h"
#include "crypto/crypto.h"
#include "daemon/agents/endpoint.h"
#include "daemon/api.h"
#include "daemon/compute.h"
#include "daemon/health.h"
#include "daemon/http/server.h"
#include "daemon/http/tls.h"
#include "daemon/preflight.h"
#include "daemon/reconciler_runner.h"
#include "daemon/service_manager.h"

namespace compute::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSchemaCheck{10'000};
// Beyond the delivery time-out: what a clean stop may take before the process ends itself.
constexpr milliseconds kStopMargin{1800};

LogLevel log_level(const std::string& name) {
    if (name == "debug") {
        return LogLevel::Debug;
    }
    if (name == "warning") {
        return LogLevel::Warning;
    }
    return name == "error" ? LogLevel::Error : LogLevel::Info;
}

bool has_role(const config::Config& config, const std::string& role) {
    return std::find(config.roles.begin(), config.roles.end(), role) != config.roles.end();
}

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) {
        out += (out.empty() ? "" : ", ") + word;
    }
    return out;
}

sigset_t served_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&set, signal);
    }
    return set;
}

std::string process_name(const Clock& clock) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return std::string(host.data()) + ":" + std::to_string(::getpid()) + ":" +
           std::to_string(clock.now_ms());
}

http::Limits http_limits(const config::Limits& limits) {
    http::Limits out;
    out.connections = static_cast<std::size_t>(limits.connections);
    out.connections_per_address = static_cast<std::size_t>(limits.connections_per_address);
    out.header_bytes = static_cast<std::size_t>(limits.header_bytes);
    out.head_timeout = milliseconds(limits.head_timeout_ms);
    out.idle_timeout = milliseconds(limits.idle_timeout_ms);
    out.waiting = limits.waiting;
    return out;
}

// Ends the process when a clean stop takes longer than promised: something hangs, and what it held
// is taken up again after its lease.
class StopDeadline {
public:
    StopDeadline(milliseconds patience, Log& log)
        : thread_([this, patience, &log](const std::stop_token& stop) {
              std::unique_lock lock(mutex_);
              if (!changed_.wait_for(lock, stop, patience, [&] { return is_done_; }) &&
                  !stop.stop_requested()) {
                  log.error("serve.stop_forced", {{"after_ms", std::to_string(patience.count())}});
                  ::_exit(1);
              }
          }) {}
    ~StopDeadline() {
        const std::lock_guard lock(mutex_);
        is_done_ = true;
        thread_.request_stop();
    }
    StopDeadline(const StopDeadline&) = delete;
    StopDeadline& operator=(const StopDeadline&) = delete;

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool is_done_ = false;
    std::jthread thread_;
};

// The parts of a running process, in the order they start; they stop in the reverse one.
class Process {
public:
    Process(config::Config config, const ServeOptions& options, Log& log);

    void start();
    void run();  // until a signal asks for the end
    void stop();

private:
    void start_server();
    void start_controllers();
    void say_where();
    void reload();

    const ServeOptions& options_;
    Log& log_;
    SystemClock clock_;
    ServiceManager manager_;
    std::unique_ptr<store::ProcessLock> lock_;
    config::ResolvedSecret secret_;
    std::unique_ptr<Compute> compute_;
    std::optional<RootToken> root_token_;
    std::unique_ptr<Health> health_;
    std::unique_ptr<Api> api_;
    std::unique_ptr<agents::AgentEndpoint> agents_;  // with the api role
    std::shared_ptr<http::TlsContext> tls_;          // shared with the listener
    std::unique_ptr<http::HttpServer> server_;
    std::unique_ptr<ReconcilerRunner> own_runner_;  // in every process
    std::unique_ptr<ReconcilerRunner> runner_;      // with the controllers role
    std::vector<std::unique_ptr<method::Worker>> workers_;
};

Process::Process(config::Config config, const ServeOptions& options, Log& log)
    : options_(options), log_(log) {
    check_listener(config);
    // The lock first: whoever does not get it must not touch the files beside the database either.
    lock_ = lock_database(config);
    secret_ = config::resolve_secret(config, config::SecretNeed::Serve, crypto::system_rng());
    ComputeOptions compute;
    compute.migrations = options.migrate ? MigrationPolicy::Apply : MigrationPolicy::ApplyOnSqlite;
    compute.create_database = true;
    compute.on_migrate = [&log](std::string_view name) {
        log.info("migrate.applied", {{"migration", std::string(name)}});
    };
    compute.log = &log;
    compute_ = std::make_unique<Compute>(std::move(config), std::move(compute));
    root_token_ = ensure_root_token(*compute_);
}

void Process::start_server() {
    const config::Config& config = compute_->config();
    const bool has_api = has_role(config, "api");
    health_ = std::make_unique<Health>(
        compute_->database(), compute_->migrations(), config.roles, clock_, log_
    );
    api_ = std::make_unique<Api>(
        *compute_, *health_, has_api ? Api::Offer::Methods : Api::Offer::HealthOnly
    );
    if (has_api) {
        agents_ = std::make_unique<agents::AgentEndpoint>(
            compute_->runtime(),
            agents::EndpointOptions{.process = process_name(clock_), .limits = {}}
        );
        api_->set_agents(*agents_);
    }
    if (!config.tls.cert.empty()) {
        tls_ = std::make_shared<http::TlsContext>(config.tls.cert, config.tls.key);
    }
    http::ServerOptions options;
    options.limits = http_limits(config.limits);
    options.is_behind_proxy = config.behind_proxy;
    options.listeners.push_back({config.listen, false, tls_});
    if (!config.admin_listen.empty()) {
        options.listeners.push_back({config.admin_listen, true, nullptr});
    }
    http::raise_file_limit();
    server_ = std::make_unique<http::HttpServer>(
        std::move(options), *api_, clock_, crypto::system_rng(), log_
    );
    api_->set_server_stats([server = server_.get()] { return server->stats(); });
}

void Process::start_controllers() {
    own_runner_ = std::make_unique<ReconcilerRunner>(
        compute_->own_reconcilers(), compute_->runtime(), RunnerOptions{}
    );
    if (!has_role(compute_->config(), "controllers")) {
        return;
    }
    std::vector<method::Reconciler> reconcilers;
    for (const method::Module& module : compute_->modules()) {
        reconcilers.insert(reconcilers.end(), module.reconcilers.begin(), module.reconcilers.end());
    }
    runner_ = std::make_unique<ReconcilerRunner>(
        std::move(reconcilers), compute_->runtime(), RunnerOptions{.process = process_name(clock_)}
    );
    for (const method::Module& module : compute_->modules()) {
        for (const auto& make : module.workers) {
            workers_.push_back(make(compute_->runtime()));
        }
    }
}

void Process::say_where() {
    const std::string url = (tls_ ? "https://" : "http://") + server_->address();
    const std::string admin = compute_->config().admin_listen.empty()
                                  ? ""
                                  : "metrics too: http://" + server_->address(1) + "/metrics\n";
    const auto made = [](bool was_created) { return was_created ? " (made now)" : ""; };
    std::fprintf(
        stderr,
        "better-compute %s listens on %s\n"
        "database: %s at %s\n"
        "secret: %s%s\n"
        "root token: %s%s\n"
        "%sroles: %s; SIGTERM or Ctrl-C stops it\n",
        options_.version.c_str(),
        url.c_str(),
        compute_->database().engine_version().c_str(),
        compute_->database().location().c_str(),
        secret_.origin.c_str(),
        made(secret_.was_created),
        root_token_ ? root_token_->path.c_str()
                    : "none here; make tokens with: better-compute iam tokens create",
        root_token_ ? made(root_token_->was_created) : "",
        admin.c_str(),
        joined(compute_->config().roles).c_str()
    );
    if (!options_.ready_file.empty()) {
        write_file_atomically(
            options_.ready_file,
            dump_json(Json{{"url", url}, {"pid", ::getpid()}, {"version", options_.version}}) + "\n"
        );
    }
}

void Process::start() {
    compute_->start();
    start_server();
    start_controllers();
    health_->set_started();
    say_where();
    const config::Config& config = compute_->config();
    if (config.events.allow_insecure || config.events.allow_private) {
        log_.warning(
            "serve.receivers_open",
            {{"hint", "events.allow_insecure and events.allow_private are for development"}}
        );
    }
    log_.info("serve.ready", {{"address", server_->address()}, {"roles", joined(config.roles)}});
    manager_.notify("READY=1");
}

void Process::reload() {
    manager_.notify("RELOADING=1");
    try {
        if (tls_) {
            tls_->reload();
        }
        if (options_.reload) {
            log_.set_level(log_level(options_.reload().log_level));
        }
        log_.info("serve.reloaded");
    } catch (const ComputeError& error) {
        // What was in force stays in force.
        log_.error("serve.reload_failed", {{"error", error.message()}});
    }
    manager_.notify("READY=1");
}

void Process::run() {
    const sigset_t signals = served_signals();
    const milliseconds tick =
        std::min(manager_.watchdog_interval().value_or(kSchemaCheck), kSchemaCheck);
    std::int64_t next_check = clock_.steady_ms() + kSchemaCheck.count();
    while (true) {
        const timespec patience{tick.count() / 1000, (tick.count() % 1000) * 1'000'000};
        const int signal = ::sigtimedwait(&signals, nullptr, &patience);
        if (signal == SIGTERM || signal == SIGINT) {
            log_.info("serve.stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
            return;
        }
        if (signal == SIGHUP) {
            reload();
        }
        if (manager_.watchdog_interval()) {
            manager_.notify("WATCHDOG=1");
        }
        if (clock_.steady_ms() >= next_check) {
            next_check = clock_.steady_ms() + kSchemaCheck.count();
            try {
                health_->check_schema();
            } catch (const ComputeError& error) {
                log_.warning("health.schema_unknown", {{"error", error.message()}});
            }
        }
    }
}

// First everything is told to take nothing new, then each part is waited for: the time runs once
// for all of them.
void Process::stop() {
    manager_.notify("STOPPING=1");
    const milliseconds patience(compute_->config().events.delivery.timeout_ms);
    const StopDeadline deadline(patience + kStopMargin, log_);
    health_->set_stopping();
    server_->begin_stop();
    if (runner_) {
        runner_->begin_stop();
    }
    for (const auto& worker : workers_) {
        worker->begin_stop();
    }
    server_->finish_stop(patience);
    if (agents_) {
        agents_->stop();
    }
    for (const auto& worker : workers_) {
        worker->finish_stop();
    }
    workers_.clear();
    if (runner_) {
        runner_->finish_stop();
    }
    own_runner_->finish_stop();
    try {
        compute_->flush();
    } catch (const ComputeError& error) {
        log_.warning("serve.flush_failed", {{"error", error.message()}});
    }
    if (!options_.ready_file.empty()) {
        ::unlink(options_.ready_file.c_str());
    }
    log_.info("serve.stopped");
}

}  // namespace

int serve(config::Config config, const ServeOptions& options) {
    // Before any thread starts, so that all inherit the mask and the main thread alone takes them.
    const sigset_t signals = served_signals();
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    const auto log = make_stderr_log(
        log_level(config.log_level), config.log_format == "json" ? LogFormat::Json : LogFormat::Text
    );
    Process process(std::move(config), options, *log);
    process.start();
    process.run();
    process.stop();
    return 0;
}

}  // namespace compute::daemon
