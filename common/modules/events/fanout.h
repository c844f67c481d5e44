// Fan-out: reads the outbox behind its cursor and queues one delivery for each webhook that wants
// an event. An event is queued for the active webhooks of its tenant whose patterns match and which
// could not yet see it when they were created or last resumed.
//
// Reading, matching and serializing happen outside the writing transaction; that one compares the
// cursor, and moves it together with the rows it queues. So any number of processes may run this:
// who comes second finds the cursor moved and queues nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "method/context.h"

namespace compute::events {

inline constexpr const char* kFanoutCursor = "webhooks";
inline constexpr int kFanoutBatch = 500;  // events of one transaction

// Sets the cursor at the tail of the outbox unless there is one: history from before the first
// start is never sent, and a restart never skips anything.
void anchor_cursor(const method::Runtime& runtime);

struct FanoutReport {
    int events = 0;      // passed by the cursor
    int deliveries = 0;  // queued
    int set_aside = 0;
    bool is_full = false;  // there is probably more
};

// Keeps compiled patterns between runs. One run at a time.
class Fanout {
public:
    explicit Fanout(int batch = kFanoutBatch);
    ~Fanout();

    // Passes one batch. Dying at any point leaves either nothing of it or all of it.
    FanoutReport run_once(const method::Runtime& runtime);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::events
