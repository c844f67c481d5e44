// The fence: when the server may have given this node up, nothing may run on it any more.
//
// It counts from the moment the last message that was answered was SENT, on a clock that goes on
// while the machine sleeps, so it can only fire too early, never too late: the server counts from
// when that message came, and waits 20 s longer.
#pragma once

#include <cstdint>
#include <optional>

namespace compute::agent {

// Milliseconds of CLOCK_BOOTTIME.
[[nodiscard]] std::int64_t boottime_ms() noexcept;

// Arithmetic only; times are of boottime_ms().
class Fence {
public:
    // The hello sent at `sent_ms` was welcomed: from there on, `fence_ms` without an answer fire
    // it.
    void arm(std::int64_t sent_ms, std::int64_t fence_ms) {
        heard_ms_ = sent_ms;
        fence_ms_ = fence_ms;
        has_fired_ = false;
    }
    // The heartbeat sent at `sent_ms` was acknowledged. A fence that has fired stays fired: what
    // was killed stays dead, and only a welcome starts anew.
    void hold_off(std::int64_t sent_ms) {
        if (heard_ms_ && sent_ms > *heard_ms_) {
            heard_ms_ = sent_ms;
        }
    }
    // True once, when it fires: everything must be killed now.
    [[nodiscard]] bool fires(std::int64_t now_ms) {
        if (!heard_ms_ || has_fired_ || now_ms - *heard_ms_ < fence_ms_) {
            return false;
        }
        has_fired_ = true;
        return true;
    }
    [[nodiscard]] bool has_fired() const noexcept { return has_fired_; }

private:
    std::optional<std::int64_t> heard_ms_;
    std::int64_t fence_ms_ = 0;
    bool has_fired_ = false;
};

}  // namespace compute::agent
