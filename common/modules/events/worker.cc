#include "modules/events/worker.h"

#include <algorithm>
#include <thread>

#include "modules/events/url_guard.h"
#include "net/sender.h"

namespace compute::events {
namespace {

constexpr std::chrono::milliseconds kSafetyNet{2'000};  // looks at the queue though nobody woke it
constexpr std::chrono::milliseconds kMaxBackoff{2'000};
constexpr std::chrono::milliseconds kSettleWhileStopping{50};
constexpr std::chrono::milliseconds kStopMargin{500};
constexpr int kFinishTries = 3;

net::SenderOptions sender_options(
    const config::Config& config, int max_in_flight, const char* name
) {
    net::SenderOptions options;
    options.guard = url_rules(config.events).guard;
    options.ca_file = config.events.ca_file;
    options.max_in_flight = max_in_flight;
    options.name = name;
    return options;
}

class DeliveryWorker final : public method::Worker {
public:
    DeliveryWorker(
        const method::Runtime& runtime,
        std::shared_ptr<EngineCounters> counters,
        const WorkerOptions& options
    )
        : runtime_(runtime),
          counters_(std::move(counters)),
          resolver_(options.make_resolver ? options.make_resolver() : net::make_system_resolver()),
          engine_(runtime, *counters_, options.engine),
          fast_(
              sender_options(
                  runtime.config,
                  options.engine.fast_lanes + options.engine.unproven_lanes,
                  "deliver"
              ),
              engine_,
              *resolver_,
              runtime.log
          ),
          slow_(
              sender_options(runtime.config, options.engine.slow_lanes, "deliver-slow"),
              engine_,
              *resolver_,
              runtime.log
          ),
          fast_out_(fast_),
          slow_out_(slow_) {
        engine_.attach(fast_out_, slow_out_);
        deliveries_ = runtime.wake.subscribe(kDeliveriesChannel, [this] { engine_.wake(); });
        changes_ = runtime.wake.subscribe(kWebhooksChannel, [this] { engine_.wake_changes(); });
        listener_ = runtime.database.listen(
            {kDeliveriesChannel, kWebhooksChannel},
            [this](std::string_view channel) {
                channel == kWebhooksChannel ? engine_.wake_changes() : engine_.wake();
            }
        );
        thread_ = std::jthread([this](const std::stop_token& done) { run(done); });
    }

    ~DeliveryWorker() override { finish_stop(); }

    void begin_stop() override {
        engine_.begin_stop();
        fast_.begin_stop();
        slow_.begin_stop();
    }

    void finish_stop() override {
        if (is_finished_) {
            return;
        }
        is_finished_ = true;
        begin_stop();
        const std::chrono::milliseconds bound =
            std::chrono::milliseconds(runtime_.config.events.delivery.timeout_ms) + kStopMargin;
        const std::int64_t deadline = runtime_.clock.steady_ms() + bound.count();
        fast_.stop(bound);
        slow_.stop(std::chrono::milliseconds(
            std::max<std::int64_t>(deadline - runtime_.clock.steady_ms(), 0)
        ));
        thread_.request_stop();
        thread_.join();
        listener_.reset();
        deliveries_.reset();
        changes_.reset();
        for (int i = 0; i < kFinishTries && !try_step([this] { engine_.finish(); }); ++i) {
        }
    }

private:
    // The one catch of this thread: whatever a round with the database throws is logged, and the
    // round comes again.
    template <class Function>
    bool try_step(Function&& function) {
        try {
            function();
            return true;
        } catch (const ComputeError& error) {
            runtime_.log.error(
                "events.deliver.step_failed",
                {{"error", error.message()}, {"detail", error.log_detail()}}
            );
        } catch (const std::exception& error) {
            runtime_.log.error("events.deliver.step_failed", {{"error", error.what()}});
        }
        return false;
    }

    void run(const std::stop_token& done) {
        std::chrono::milliseconds backoff{0};
        while (engine_.wait(kSafetyNet)) {
            if (try_step([this] { engine_.step(); })) {
                backoff = std::chrono::milliseconds(0);
                continue;
            }
            backoff = std::clamp(backoff * 2, std::chrono::milliseconds(50), kMaxBackoff);
            runtime_.clock.sleep(backoff, [&] { return done.stop_requested(); });
        }
        // Stopping: the sends under way end within their time-out; what has ended is written down
        // meanwhile.
        while (!done.stop_requested()) {
            try_step([this] { engine_.step({.passes = 0}); });
            runtime_.clock.sleep(kSettleWhileStopping, [&] { return done.stop_requested(); });
        }
    }

    const method::Runtime& runtime_;
    std::shared_ptr<EngineCounters> counters_;
    std::unique_ptr<net::Resolver> resolver_;
    Engine engine_;
    net::Sender fast_;
    net::Sender slow_;
    SenderOutbound fast_out_;
    SenderOutbound slow_out_;
    std::unique_ptr<WakeHub::Subscription> deliveries_;
    std::unique_ptr<WakeHub::Subscription> changes_;
    std::unique_ptr<store::Listener> listener_;
    std::jthread thread_;
    bool is_finished_ = false;
};

}  // namespace

std::unique_ptr<method::Worker> start_worker(
    const method::Runtime& runtime, std::shared_ptr<EngineCounters> counters, WorkerOptions options
) {
    return std::make_unique<DeliveryWorker>(runtime, std::move(counters), options);
}

}  // namespace compute::events
