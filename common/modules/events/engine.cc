#include "modules/events/engine.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/fail_point.h"
#include "modules/events/engine_step.h"
#include "modules/events/policy.h"

namespace compute::events {
namespace {

constexpr std::size_t kFlushResults = 256;
constexpr std::int64_t kFlushMs = 20;
constexpr std::int64_t kSendMarginMs =
    1'000;  // a send starts only with its time-out and this left of the lease

std::int64_t new_token(Rng& rng) {
    std::uint64_t bits = 0;
    rng.fill(&bits, sizeof bits);
    return static_cast<std::int64_t>(bits >> 2U) | 1;
}

std::string phases_of(const net::Timings& t) {
    std::array<char, 96> text{};
    const int size = std::snprintf(
        text.data(),
        text.size(),
        "%.1f,%.1f,%.1f,%.1f,%.1f",
        t.resolve_ms,
        t.connect_ms,
        t.tls_ms,
        t.first_byte_ms,
        t.total_ms
    );
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

Engine::Engine(const method::Runtime& runtime, EngineCounters& counters, EngineOptions options)
    : runtime_(runtime), counters_(counters), options_(options), token_(new_token(runtime.rng)) {
    if (!runtime.config.secret.empty()) {
        sealer_.emplace(runtime.config.secret, runtime.config.previous_secrets);
    }
}

Engine::~Engine() = default;

void Engine::attach(Outbound& fast, Outbound& slow) {
    fast_ = &fast;
    slow_ = &slow;
}

EpochMs Engine::lease_end() const {
    return runtime_.clock.now_ms() + runtime_.config.events.delivery.timeout_ms + kLeaseMarginMs;
}

std::array<int, kLaneClasses> Engine::free_lanes_locked() const {
    std::array<int, kLaneClasses> free = {
        options_.fast_lanes, options_.slow_lanes, options_.unproven_lanes};
    for (const auto& [webhook, lane] : lanes_) {
        // Counted where it is served: a lane that turned slow keeps its place in the first loop
        // until it has left it.
        const LaneClass place = lane->is_in_slow_loop                     ? LaneClass::Slow
                                : lane->lane_class == LaneClass::Unproven ? LaneClass::Unproven
                                                                          : LaneClass::Fast;
        --free[static_cast<std::size_t>(place)];
    }
    return free;
}

bool Engine::has_work_locked(EpochMs now) const {
    if (is_woken_ || has_requests_ || has_changes_ || results_.size() >= kFlushResults) {
        return true;
    }
    if (!results_.empty() && runtime_.clock.steady_ms() - oldest_result_ms_ >= kFlushMs) {
        return true;
    }
    if (body_bytes_ >= options_.max_body_bytes_held) {
        return false;
    }
    const auto free = free_lanes_locked();
    for (std::size_t i = 0; i < kLaneClasses; ++i) {
        if (next_due_[i] <= now && free[i] > 0) {
            return true;
        }
    }
    return false;
}

bool Engine::wait(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    const std::int64_t until = runtime_.clock.steady_ms() + longest.count();
    while (!is_stopping_) {
        const EpochMs now = runtime_.clock.now_ms();
        const std::int64_t steady = runtime_.clock.steady_ms();
        if (has_work_locked(now)) {
            return true;
        }
        if (steady >= until) {
            is_woken_ = true;  // the safety net: look even though nobody said so
            return true;
        }
        std::int64_t wait_ms = until - steady;
        if (!results_.empty()) {
            wait_ms = std::min(wait_ms, oldest_result_ms_ + kFlushMs - steady);
        }
        const auto free = free_lanes_locked();
        for (std::size_t i = 0; i < kLaneClasses; ++i) {
            if (free[i] > 0 && next_due_[i] > now) {
                wait_ms = std::min(wait_ms, next_due_[i] - now);
            }
        }
        changed_.wait_for(lock, std::chrono::milliseconds(std::max<std::int64_t>(wait_ms, 1)));
    }
    return false;
}

void Engine::wake() {
    {
        const std::lock_guard lock(mutex_);
        is_woken_ = true;
    }
    changed_.notify_one();
}

void Engine::wake_changes() {
    {
        const std::lock_guard lock(mutex_);
        has_changes_ = true;
    }
    changed_.notify_one();
}

void Engine::begin_stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_one();
}

void Engine::finish() {
    begin_stop();
    step();
}

int Engine::rows_held() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(rows_.size());
}

net::Go Engine::before_send(const net::Attempt& attempt, net::HeaderBlock& headers) {
    Signer* signer = nullptr;  // the lane stays while a row of it is in the loop
    SignedDelivery delivery;
    std::string type;
    std::string id;
    std::string webhook_id;
    bool with_previous = false;
    {
        const std::lock_guard lock(mutex_);
        const auto found = rows_.find(static_cast<std::int64_t>(attempt.id));
        if (found == rows_.end()) {
            return net::Go::Drop;
        }
        HeldRow& row = found->second;
        Lane& lane = *lanes_.at(row.webhook);
        if (lane.is_lost) {
            return net::Go::Drop;
        }
        const EpochMs now = runtime_.clock.now_ms();
        if (row.needs_mark || lane.lease_until - now < attempt.timeout.count() + kSendMarginMs) {
            lane.wants_mark = row.needs_mark ? found->first : 0;
            lane.wants_renewal = true;
            has_requests_ = true;
            changed_.notify_one();
            return net::Go::Hold;
        }
        row.started_at = now;
        signer = lane.signer.get();
        with_previous = lane.previous_expires_at > now;
        type = row.type;
        id = row.id;
        webhook_id = lane.webhook_id;
        delivery.now = now;
    }
    delivery.event_type = type;
    delivery.delivery_id = id;
    delivery.webhook_id = webhook_id;
    delivery.body = *attempt.body;
    delivery.standard_headers = runtime_.config.events.standard_headers;
    signer->add_headers(headers, delivery, with_previous);
    fail_point("deliver-before-send");
    return net::Go::Send;
}

void Engine::on_result(net::AttemptResult result) {
    const EpochMs ended_at = runtime_.clock.now_ms();
    bool drops_lane = false;
    {
        const std::lock_guard lock(mutex_);
        const auto found = rows_.find(static_cast<std::int64_t>(result.id));
        if (found == rows_.end()) {
            return;
        }
        const HeldRow& row = found->second;
        Lane& lane = *lanes_.at(row.webhook);
        Settlement s;
        s.seq = found->first;
        s.webhook = row.webhook;
        if (result.is_cancelled && result.outcome == net::Outcome::NotSent) {
            s.is_handed_back = true;
            counters_.handed_back.fetch_add(1, std::memory_order_relaxed);
        } else {
            Verdict verdict = judge(
                runtime_.config.events.delivery,
                result,
                row.attempt,
                ended_at,
                runtime_.config.events.jitter ? &runtime_.rng : nullptr
            );
            s.state = verdict.state;
            s.next_at = verdict.next_at;
            s.status = verdict.status;
            s.error = std::move(verdict.error);
            s.was_sent = result.outcome != net::Outcome::NotSent;
            s.round = row.round;
            s.attempt = row.attempt;
            s.ended_at = ended_at;
            s.started_at = row.started_at == 0 ? ended_at : row.started_at;
            s.outcome = static_cast<int>(result.outcome);
            s.detail = bounded_text(std::move(result.detail), kMaxLastErrorBytes);
            s.address = std::move(result.remote_address);
            s.phases = phases_of(result.timings);
            const bool is_slow = ended_at - s.started_at >= options_.slow_ms;
            lane.is_careful = false;
            lane.lane_class = verdict.state == DeliveryState::Delivered && !is_slow
                                  ? LaneClass::Fast
                                  : LaneClass::Slow;
            if (lane.is_in_slow_loop != (lane.lane_class == LaneClass::Slow)) {
                lane.is_ending = true;
            }
            // A receiver that hangs gives the rest of its rows back at once; one that fails quickly
            // goes on with them.
            drops_lane = is_slow && !lane.is_in_slow_loop;
            auto& count = verdict.state == DeliveryState::Delivered ? counters_.delivered
                          : verdict.state == DeliveryState::Dead    ? counters_.dead
                                                                    : counters_.failed;
            count.fetch_add(1, std::memory_order_relaxed);
        }
        --lane.rows;
        body_bytes_ -= row.body->size();
        rows_.erase(found);
        if (results_.empty()) {
            oldest_result_ms_ = runtime_.clock.steady_ms();
        }
        results_.push_back(std::move(s));
        if (results_.size() == 1 || results_.size() == kFlushResults) {
            changed_.notify_one();
        }
    }
    fail_point("deliver-before-settle");
    if (drops_lane) {
        fast_->drop_lane(result.lane);  // reports what it drops to on_result: not under the lock
    }
}

}  // namespace compute::events
