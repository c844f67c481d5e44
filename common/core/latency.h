// How long things take, for metrics alone: nothing decides by it, so it reads the steady clock of
// the machine and not the one that is passed in.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace compute {

// Thread-safe; observing takes no lock.
class LatencyHistogram {
public:
    // Upper bounds of the buckets in microseconds; one more takes what is above the last.
    static constexpr std::array<std::uint64_t, 15> kBoundsUs = {
        100,
        250,
        500,
        1'000,
        2'500,
        5'000,
        10'000,
        25'000,
        50'000,
        100'000,
        250'000,
        500'000,
        1'000'000,
        2'500'000,
        10'000'000};

    struct Snapshot {
        std::array<std::uint64_t, kBoundsUs.size() + 1> buckets{};  // each without those below
        std::uint64_t total_us = 0;

        [[nodiscard]] std::uint64_t count() const noexcept;
    };

    void observe(std::chrono::steady_clock::duration duration) noexcept;
    [[nodiscard]] Snapshot snapshot() const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, kBoundsUs.size() + 1> buckets_{};
    std::atomic<std::uint64_t> total_us_{0};
};

// Observes the time from its making to its end, however that comes about.
class LatencyTimer {
public:
    explicit LatencyTimer(LatencyHistogram& histogram) noexcept
        : histogram_(histogram), begin_(std::chrono::steady_clock::now()) {}
    ~LatencyTimer() { histogram_.observe(std::chrono::steady_clock::now() - begin_); }
    LatencyTimer(const LatencyTimer&) = delete;
    LatencyTimer& operator=(const LatencyTimer&) = delete;

private:
    LatencyHistogram& histogram_;
    const std::chrono::steady_clock::time_point begin_;
};

}  // namespace compute
