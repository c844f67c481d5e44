#include "modules/events/checks.h"
#include "modules/events/engine.h"
#include "modules/events/events.h"
#include "modules/events/fanout.h"
#include "modules/events/methods/methods.h"
#include "modules/events/policy.h"
#include "modules/events/prune.h"
#include "modules/events/worker.h"
#include "outbox/outbox.h"

namespace compute::events {
namespace {

constexpr std::chrono::milliseconds kFanoutInterval{1'000};
constexpr std::chrono::milliseconds kDeliverInterval{2'000};
constexpr std::chrono::milliseconds kPruneInterval{3'600'000};
constexpr std::chrono::milliseconds kPruneAgain{1'000};

using Again = std::optional<std::chrono::milliseconds>;

std::vector<method::Reconciler> reconcilers() {
    std::vector<method::Reconciler> list;
    const auto fanout = std::make_shared<Fanout>();  // kept by the function that runs it
    list.push_back(
        {"events.fanout",
         kFanoutInterval,
         {outbox::kChannel},
         [fanout](const method::Runtime& runtime) {
             return fanout->run_once(runtime).is_full ? Again(std::chrono::milliseconds(0))
                                                      : Again();
         }}
    );
    // The worker does the work; this is the tick that makes it look when a wake-up was lost.
    list.push_back({"events.deliver", kDeliverInterval, {}, [](const method::Runtime& runtime) {
                        runtime.wake.wake(kDeliveriesChannel);
                        return Again();
                    }});
    list.push_back({"events.prune", kPruneInterval, {}, [](const method::Runtime& runtime) {
                        return run_prune(runtime) ? Again(kPruneAgain) : Again();
                    }});
    return list;
}

void start(const method::Runtime& runtime) {
    if (runtime.config.secret.empty()) {
        throw invalid_config("secret: webhooks need a deployment secret of at least 32 characters");
    }
    anchor_cursor(runtime);
}

}  // namespace

method::Module events_module(const config::Config& config) {
    check_options(config);
    MethodSettings made{.url_rules = url_rules(config.events), .sealer = std::nullopt};
    if (!config.secret.empty()) {
        made.sealer.emplace(config.secret, config.previous_secrets);
    }
    const SharedSettings settings = std::make_shared<const MethodSettings>(std::move(made));

    method::Module module;
    module.id = "events";
    module.methods = {
        create_method(settings),
        get_method(),
        list_method(),
        update_method(settings),
        delete_method(),
        rotate_secret_method(settings),
        ping_method(),
        deliveries_method(),
        redeliver_method(),
        event_types_method(),
    };
    module.reconcilers = reconcilers();
    const auto counters = std::make_shared<EngineCounters>();  // of the worker, read by the gauges
    module.workers.push_back([counters](const method::Runtime& runtime) {
        return start_worker(runtime, counters);
    });
    module.checks = checks();
    module.gauges = gauges(counters);
    module.on_start = start;
    return module;
}

}  // namespace compute::events
