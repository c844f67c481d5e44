// The engine at work: its database thread, the two sending loops and the resolver, from the start
// of the process to its stop.
#pragma once

#include <functional>
#include <memory>

#include "method/module.h"
#include "modules/events/engine.h"
#include "net/resolver.h"

namespace compute::events {

struct WorkerOptions {
    EngineOptions engine;
    // Tests put their own in place; null: the system's.
    std::function<std::unique_ptr<net::Resolver>()> make_resolver;
};

// Starts at once. `counters` is shared with the module's gauges, which may outlive the worker.
[[nodiscard]] std::unique_ptr<method::Worker> start_worker(
    const method::Runtime& runtime,
    std::shared_ptr<EngineCounters> counters,
    WorkerOptions options = {}
);

}  // namespace compute::events
