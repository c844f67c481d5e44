// A clock that the test moves. sleep() moves it too, and records what was asked for.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "core/clock.h"

namespace compute::support {

class FakeClock final : public Clock {
public:
    explicit FakeClock(EpochMs now = 1'790'244'902'000) : now_(now) {}

    [[nodiscard]] EpochMs now_ms() const override { return now_; }
    [[nodiscard]] std::int64_t steady_ms() const override { return now_ - kOrigin; }
    void sleep(std::chrono::milliseconds duration, const std::function<bool()>& is_cancelled) override {
        if (is_cancelled && is_cancelled()) {
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            sleeps_.push_back(duration.count());
        }
        advance(duration);
    }

    void advance(std::chrono::milliseconds by) { now_ += by.count(); }
    void set(EpochMs now) { now_ = now; }
    [[nodiscard]] std::vector<std::int64_t> sleeps() const {
        const std::lock_guard lock(mutex_);
        return sleeps_;
    }

private:
    static constexpr EpochMs kOrigin = 1'700'000'000'000;
    std::atomic<EpochMs> now_;
    mutable std::mutex mutex_;
    std::vector<std::int64_t> sleeps_;
};

}  // namespace compute::support
