// The delivery engine: claims lanes and rows, hands them to the sending loops, writes down what
// came of them.
//
// A webhook is a lane. A lane is leased to one process; while it is, a bounded number of its rows
// are claimed ahead and sent one at a time, in queue order; other lanes go on beside it. One
// database thread calls step(): a single transaction settles the results that have come, claims
// more for lanes that run low, gives back lanes that have nothing due, and takes free lanes that
// have. Rows reach a sending loop only after that transaction committed.
//
// What a crash leaves: an answer not yet settled is sent again, with the same id and bytes; a claim
// not yet sent comes back when the lane's lease ends, its attempt counted. After that the lane goes
// one row at a time, and each row is marked before it is sent, so that "its attempts are used up"
// can be told from "it never left". A lease always covers the send it guards: what has too little
// of it left is held until the lease is renewed.
//
// Two loops: webhooks whose last try was slow or failed are served by the second, with few places,
// so that however many of them there are, the good ones keep theirs. A webhook nothing is known
// about has one of a few places in the first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "method/context.h"
#include "modules/events/engine_lane.h"
#include "modules/events/outbound.h"
#include "modules/events/queue.h"
#include "modules/events/sealing.h"

namespace compute::events {

struct EngineOptions {
    int lane_depth = 50;      // rows claimed ahead for a lane
    int slow_lane_depth = 5;  // the same in the second loop
    int fast_lanes = 256;
    int slow_lanes = 512;
    int unproven_lanes = 256;      // in the first loop, beside fast_lanes
    int lane_session_rows = 1000;  // then the lane goes to the end of the round
    int passes_per_step = 20;      // claims of `limit` rows that one transaction commits
    std::int64_t slow_ms = 2000;
    std::size_t max_body_bytes_held = 64U << 20U;
};

struct StepOptions {
    std::optional<int> passes;  // default: EngineOptions::passes_per_step; 0 claims nothing
};

struct StepReport {
    int settled = 0;
    int claimed = 0;  // rows
    int passes = 0;   // of at most `limit` rows each
    int lanes_picked = 0;
    int lanes_released = 0;
    int lanes_lost = 0;
};

// For metrics; read while the engine runs.
struct EngineCounters {
    std::atomic<std::uint64_t> delivered{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> dead{0};
    std::atomic<std::uint64_t> handed_back{0};
    std::atomic<std::uint64_t> claimed{0};
    std::atomic<std::uint64_t> refused{0};  // lanes lost to another holder
    std::atomic<std::int64_t> lanes_held{0};
};

// step() and wait() belong to one thread; the SenderOwner functions to the loops' threads; wake()
// and begin_stop() to any.
class Engine final : public net::SenderOwner {
public:
    Engine(const method::Runtime& runtime, EngineCounters& counters, EngineOptions options = {});
    ~Engine() override;

    // The loops; before the first step. They outlive the engine's use of them.
    void attach(Outbound& fast, Outbound& slow);

    // One round with the database. Results are kept for the next step when it throws.
    StepReport step(StepOptions options = {});

    // Waits until a step has something to do, at most `longest`. False when the engine is to stop.
    bool wait(std::chrono::milliseconds longest);
    // There may be due rows; or webhooks changed.
    void wake();
    void wake_changes();

    // Claims nothing from now on; wait() returns false. What the loops report afterwards is settled
    // by finish().
    void begin_stop();
    // Settles all that was reported and gives every lane back. After the loops have stopped.
    void finish();

    net::Go before_send(const net::Attempt& attempt, net::HeaderBlock& headers) override;
    void on_result(net::AttemptResult result) override;

    // Rows claimed and not settled yet.
    [[nodiscard]] int rows_held() const;
    [[nodiscard]] std::int64_t token() const noexcept { return token_; }

private:
    struct Plan;     // what a step takes out of the shared state
    struct Outcome;  // what its transaction found
    struct Picking;  // lanes that were taken, by what is to become of them

    Plan make_plan(const StepOptions& options);
    void run_transaction(store::Transaction& tx, const Plan& plan, Outcome& out);
    void take_lanes(Queue& queue, const Plan& plan, Outcome& out);
    Picking pick_lanes(Queue& queue, const Plan& plan, int budget, Outcome& out);
    void sort_out(
        Queue& queue,
        const Plan& plan,
        LaneRow row,
        LaneClass lane_class,
        Picking& picking,
        Outcome& out
    );
    void claim_picked(
        Queue& queue, const Plan& plan, int budget, std::vector<Release>& releases, Outcome& out
    );
    void apply(const Plan& plan, Outcome& outcome, StepReport& report);
    void apply_claims(
        Outcome& outcome, StepReport& report, std::array<std::vector<net::Attempt>, 2>& submit
    );
    void take_back(Plan& plan);
    [[nodiscard]] LaneSecrets open_secrets(const LaneRow& row);
    [[nodiscard]] EpochMs lease_end() const;
    [[nodiscard]] bool has_work_locked(EpochMs now) const;
    [[nodiscard]] std::array<int, kLaneClasses> free_lanes_locked() const;
    [[nodiscard]] Outbound& loop_of(const Lane& lane) const {
        return lane.is_in_slow_loop ? *slow_ : *fast_;
    }

    const method::Runtime& runtime_;
    EngineCounters& counters_;
    const EngineOptions options_;
    const std::int64_t token_;
    std::optional<Sealer> sealer_;
    Outbound* fast_ = nullptr;
    Outbound* slow_ = nullptr;

    // Of the step's thread alone.
    std::unordered_map<std::int64_t, LaneSecrets> secrets_;  // by webhook

    mutable std::mutex mutex_;  // guards what follows; never held over database, network or signing
    std::condition_variable changed_;
    std::unordered_map<std::int64_t, std::unique_ptr<Lane>>
        lanes_;  // by webhook; erased by the step's thread alone
    std::unordered_map<std::int64_t, HeldRow> rows_;  // by seq; submitted and not reported
    std::vector<Settlement> results_;
    std::int64_t oldest_result_ms_ = 0;  // steady
    std::size_t body_bytes_ = 0;
    std::array<EpochMs, kLaneClasses> next_due_{};  // 0: look now
    bool is_woken_ = true;
    bool has_requests_ = false;  // a lane waits for a renewal or a mark
    bool has_changes_ = false;
    bool is_stopping_ = false;
};

}  // namespace compute::events
