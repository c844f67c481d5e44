// Runs the modules' reconcilers: each in a thread of its own, one run at a time, at its interval or
// as soon as one of its channels is woken, in this process or by another one through the database.
// An error ends the run, not the reconciler.
//
// What a crash in a run leaves behind is the reconciler's business: every one is written so that
// the next run, here or elsewhere, goes on from the committed state.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/wake.h"
#include "method/module.h"

namespace compute::daemon {

struct RunnerOptions {
    std::string
        process;  // names this process in the heartbeats: "host:pid:start"; empty: it leaves none
    std::chrono::milliseconds beat_interval{10'000};
};

class ReconcilerRunner {
public:
    // Starts the threads and listens on the channels. `runtime` outlives it.
    ReconcilerRunner(
        std::vector<method::Reconciler> reconcilers,
        const method::Runtime& runtime,
        RunnerOptions options
    );
    ~ReconcilerRunner();  // begin_stop and finish_stop
    ReconcilerRunner(const ReconcilerRunner&) = delete;
    ReconcilerRunner& operator=(const ReconcilerRunner&) = delete;

    // No run begins from now on; returns at once.
    void begin_stop();
    // Returns when the runs under way have ended; removes this process's heartbeats.
    void finish_stop();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::daemon
