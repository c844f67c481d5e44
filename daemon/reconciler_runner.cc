#include "daemon/reconciler_runner.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/error.h"

namespace compute::daemon {
namespace {

using std::chrono::milliseconds;

// An error that stays is said again this often, not at every run.
constexpr std::int64_t kSameErrorMs = 60'000;
// Rows of processes that died are removed by those that live.
constexpr std::int64_t kForgottenMs = 24 * 3'600'000;
constexpr std::size_t kMaxErrorBytes = 512;

// clang-format off
constexpr store::Sql kBeat =
    "insert into reconciler_heartbeats (process, reconciler, interval_ms, started_at, beat_at, runs, failures, last_error)"
    " values ($1, $2, $3, $4, $5, $6, $7, $8)"
    " on conflict (process, reconciler) do update set beat_at = excluded.beat_at, runs = excluded.runs,"
    " failures = excluded.failures, last_error = excluded.last_error";
constexpr store::Sql kForgetDead = "delete from reconciler_heartbeats where beat_at < $1";
constexpr store::Sql kForgetOwn = "delete from reconciler_heartbeats where process = $1";
// clang-format on

std::string text_of(const std::exception& error) {
    const auto* known = dynamic_cast<const ComputeError*>(&error);
    std::string text =
        known != nullptr && !known->log_detail().empty() ? known->log_detail() : error.what();
    return text.substr(0, kMaxErrorBytes);
}

}  // namespace

struct ReconcilerRunner::Impl {
    // One reconciler and its thread. `mutex` guards what both the thread and wakers or the
    // heartbeat touch.
    struct Loop {
        method::Reconciler reconciler;
        std::mutex mutex;
        std::condition_variable changed;
        bool is_woken = false;
        std::optional<EpochMs> running_since;
        std::int64_t runs = 0;
        std::int64_t failures = 0;
        std::string last_error;
        std::int64_t error_logged_ms = 0;
        std::vector<std::unique_ptr<WakeHub::Subscription>> subscriptions;
        std::jthread thread;

        void wake() {
            {
                const std::lock_guard lock(mutex);
                is_woken = true;
            }
            changed.notify_one();
        }
    };

    Impl(const method::Runtime& runtime_in, RunnerOptions options_in)
        : runtime(runtime_in),
          options(std::move(options_in)),
          started_at(runtime_in.clock.now_ms()) {}

    std::optional<milliseconds> run_once(Loop& loop);
    void run_loop(Loop& loop, const std::stop_token& stop);
    void beat();
    void run_beats(const std::stop_token& stop);

    const method::Runtime& runtime;
    RunnerOptions options;
    const EpochMs started_at;
    std::vector<std::unique_ptr<Loop>> loops;
    std::unique_ptr<store::Listener> listener;
    std::mutex beat_mutex;
    std::condition_variable_any beat_changed;
    std::jthread beat_thread;
    bool is_stopped = false;
};

std::optional<milliseconds> ReconcilerRunner::Impl::run_once(Loop& loop) {
    {
        const std::lock_guard lock(loop.mutex);
        loop.running_since = runtime.clock.now_ms();
    }
    std::optional<milliseconds> again;
    std::string fault;
    try {
        again = loop.reconciler.run(runtime);
    } catch (const std::exception& error) {
        fault = text_of(error);
    }
    bool is_worth_saying = false;
    {
        const std::lock_guard lock(loop.mutex);
        loop.running_since.reset();
        ++loop.runs;
        if (!fault.empty()) {
            ++loop.failures;
            const std::int64_t now = runtime.clock.steady_ms();
            is_worth_saying =
                loop.last_error != fault || now - loop.error_logged_ms >= kSameErrorMs;
            if (is_worth_saying) {
                loop.error_logged_ms = now;
            }
        }
        loop.last_error = fault;
    }
    if (is_worth_saying) {
        runtime.log.error(
            "reconciler.failed", {{"reconciler", loop.reconciler.name}, {"error", fault}}
        );
    }
    return again;
}

void ReconcilerRunner::Impl::run_loop(Loop& loop, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const milliseconds pause = run_once(loop).value_or(loop.reconciler.interval);
        std::unique_lock lock(loop.mutex);
        loop.changed.wait_for(lock, std::min(pause, loop.reconciler.interval), [&] {
            return loop.is_woken || stop.stop_requested();
        });
        loop.is_woken = false;
    }
}

// One transaction for all rows. If the process dies here, the rows go stale, and that is what they
// are for.
void ReconcilerRunner::Impl::beat() {
    struct Row {
        std::string name;
        std::int64_t interval_ms;
        EpochMs beat_at;
        std::int64_t runs;
        std::int64_t failures;
        std::optional<std::string> last_error;
    };
    const EpochMs now = runtime.clock.now_ms();
    std::vector<Row> rows;
    for (const auto& loop : loops) {
        const std::lock_guard lock(loop->mutex);
        const auto interval = std::max(loop->reconciler.interval, options.beat_interval);
        rows.push_back({
            loop->reconciler.name,
            interval.count(),
            loop->running_since.value_or(now),
            loop->runs,
            loop->failures,
            loop->last_error.empty() ? std::nullopt : std::optional(loop->last_error),
        });
    }
    runtime.database.write(
        [&](store::Transaction& tx) {
            for (const Row& row : rows) {
                tx.defer(
                    kBeat,
                    {options.process,
                     row.name,
                     row.interval_ms,
                     started_at,
                     row.beat_at,
                     row.runs,
                     row.failures,
                     row.last_error}
                );
            }
            tx.execute(kForgetDead, {now - kForgottenMs});
        },
        store::Purpose::Background
    );
}

void ReconcilerRunner::Impl::run_beats(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            beat();
        } catch (const std::exception& error) {
            runtime.log.warning("reconciler.beat_failed", {{"error", text_of(error)}});
        }
        std::unique_lock lock(beat_mutex);
        beat_changed.wait_for(lock, stop, options.beat_interval, [] { return false; });
    }
}

ReconcilerRunner::ReconcilerRunner(
    std::vector<method::Reconciler> reconcilers,
    const method::Runtime& runtime,
    RunnerOptions options
)
    : impl_(std::make_unique<Impl>(runtime, std::move(options))) {
    std::set<std::string> channels;
    for (method::Reconciler& reconciler : reconcilers) {
        auto& loop = *impl_->loops.emplace_back(std::make_unique<Impl::Loop>());
        loop.reconciler = std::move(reconciler);
        for (const std::string& channel : loop.reconciler.wake_on) {
            channels.insert(channel);
            loop.subscriptions.push_back(runtime.wake.subscribe(channel, [&loop] { loop.wake(); }));
        }
    }
    if (!channels.empty()) {
        // What another process says goes through the same hub, so that workers of this process hear
        // it too.
        impl_->listener = runtime.database.listen(
            {channels.begin(), channels.end()},
            [hub = &runtime.wake](std::string_view channel) { hub->wake(channel); }
        );
    }
    for (const auto& loop : impl_->loops) {
        loop->thread =
            std::jthread([impl = impl_.get(), loop = loop.get()](const std::stop_token& stop) {
                impl->run_loop(*loop, stop);
            });
    }
    if (impl_->options.process.empty()) {
        return;
    }
    impl_->beat_thread =
        std::jthread([impl = impl_.get()](const std::stop_token& stop) { impl->run_beats(stop); });
}

ReconcilerRunner::~ReconcilerRunner() {
    finish_stop();
}

void ReconcilerRunner::begin_stop() {
    for (const auto& loop : impl_->loops) {
        loop->thread.request_stop();
        loop->wake();
    }
    impl_->beat_thread.request_stop();
}

void ReconcilerRunner::finish_stop() {
    if (std::exchange(impl_->is_stopped, true)) {
        return;
    }
    begin_stop();
    impl_->listener.reset();
    for (const auto& loop : impl_->loops) {
        loop->subscriptions.clear();
        loop->thread.join();
    }
    if (!impl_->beat_thread.joinable()) {
        return;
    }
    impl_->beat_thread.join();
    try {
        impl_->runtime.database.execute(
            kForgetOwn, {impl_->options.process}, store::Purpose::Background
        );
    } catch (const std::exception& error) {
        impl_->runtime.log.warning("reconciler.beat_failed", {{"error", text_of(error)}});
    }
}

}  // namespace compute::daemon
