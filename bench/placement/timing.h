// Times of single decisions, in wall time and in processor time: on a machine that others use too
// only the second says what the code costs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace compute::bench {

class Stopwatch {
public:
    [[nodiscard]] double wall_micros() const {
        const auto passed = std::chrono::steady_clock::now() - wall_;
        return std::chrono::duration<double, std::micro>(passed).count();
    }
    [[nodiscard]] double cpu_micros() const { return cpu_now() - cpu_; }

private:
    static double cpu_now() {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
    }

    double cpu_ = cpu_now();
    std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
};

class Timings {
public:
    explicit Timings(std::string name) : name_(std::move(name)) {}

    void add(const Stopwatch& watch) {
        wall_.push_back(watch.wall_micros());
        cpu_.push_back(watch.cpu_micros());
    }
    void print(const char* of) {
        if (cpu_.empty()) {
            return;
        }
        std::printf(
            "%s, %s: %zu decisions, processor p50 %.1f us, p99 %.1f us; wall p50 %.1f us, p99 %.1f "
            "us\n",
            of,
            name_.c_str(),
            cpu_.size(),
            percentile(cpu_, 0.5),
            percentile(cpu_, 0.99),
            percentile(wall_, 0.5),
            percentile(wall_, 0.99)
        );
    }

private:
    static double percentile(std::vector<double>& values, double part) {
        std::sort(values.begin(), values.end());
        return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
    }

    std::string name_;
    std::vector<double> wall_;
    std::vector<double> cpu_;
};

// Sixteen copies of the fleet with a million bookings.
void run_large_fleet(const std::string& folder, EpochMs now);

}  // namespace compute::bench
