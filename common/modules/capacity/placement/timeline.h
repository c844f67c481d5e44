// What of one node is used over time: of its CPU and memory, and of each of its GPUs. A step
// function, zero before its first step. Windows are half-open, so what ends at t and what begins at
// t never add up.
//
// One timeline for the whole node: a decision reads some ten steps of thousands of nodes, and what
// it costs is the cache lines it touches. So times, host amounts and GPU amounts stand in three
// arrays, each in the order of time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "modules/capacity/placement/request.h"

namespace compute::capacity {

inline constexpr EpochMs kEverMs = std::numeric_limits<EpochMs>::max();
inline constexpr int kMaxGpus = 16;

// What a node's CPU and memory are used for.
struct HostAmount {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;

    HostAmount& operator+=(const HostAmount& other) {
        cpu_milli += other.cpu_milli;
        memory_mib += other.memory_mib;
        return *this;
    }
    friend bool operator==(const HostAmount&, const HostAmount&) = default;
};

// The windows [from, to) with from in [from_low, from_high) and to in (to_low, to_high] have the
// same peaks as the one this was found for.
struct Reach {
    EpochMs from_low = std::numeric_limits<EpochMs>::min();
    EpochMs from_high = kEverMs;
    EpochMs to_low = std::numeric_limits<EpochMs>::min();
    EpochMs to_high = kEverMs;

    [[nodiscard]] bool covers(EpochMs from, EpochMs to) const {
        return from >= from_low && from < from_high && to > to_low && to <= to_high;
    }
};

// A bit for each GPU, by its place.
using GpuBits = std::uint32_t;

// The most that is used at one instant of a window, of each thing by itself.
struct Peak {
    HostAmount host;
    std::array<std::int32_t, kMaxGpus> gpu_milli{};
    Reach reach;
    // No GPU that matters has anything left. The window was not read to its end then: `host` is
    // what was used until all were full.
    bool is_full = false;
};

class Timeline {
public:
    // What is used from `at` until the next step.
    struct Step {
        EpochMs at = 0;
        HostAmount host;
        const std::int32_t* gpu_milli = nullptr;  // of each GPU
    };

    // Nothing is used of a node with so many GPUs (0..kMaxGpus).
    void reset(std::size_t gpus);
    // Adds what [from, to) uses, or takes it away with negative amounts. `gpu` is a place; -1: CPU
    // and memory only.
    void add(EpochMs from, EpochMs to, int gpu, std::int64_t milli, const HostAmount& host);
    // Lets go of what ended before `now`; what is used from then on stays.
    void forget_before(EpochMs now);
    void shrink();

    [[nodiscard]] std::size_t size() const { return at_.size(); }
    [[nodiscard]] Step step(std::size_t place) const {
        return {at_[place], host_[place], gpu_.data() + place * stride_};
    }

    // The peaks of [from, to). Reading ends early once every GPU of `stop_when_full` is full (0:
    // never): nothing that comes later can change what there is to give of them.
    [[nodiscard]] Peak peak(EpochMs from, EpochMs to, GpuBits stop_when_full) const;

    // The first instant of [from, to) at which `is_too_much(step)`; `to` when there is none.
    template <class Predicate>
    [[nodiscard]] EpochMs find_first(EpochMs from, EpochMs to, Predicate is_too_much) const {
        std::size_t next = after(from);
        if (is_too_much(next == 0 ? nothing() : step(next - 1))) {
            return from;
        }
        for (; next < size() && at_[next] < to; ++next) {
            if (is_too_much(step(next))) {
                return at_[next];
            }
        }
        return to;
    }

    // The place of the first step later than `at`.
    [[nodiscard]] std::size_t after(EpochMs at) const;

    // From when on nothing is used; kEverMs when there is no such time.
    [[nodiscard]] EpochMs quiet_from() const { return quiet_from_; }

    // Begins to read what peak() will want of a window from `from` on.
    void prefetch(EpochMs from) const {
        if (size() == 0) {
            return;
        }
        const std::size_t place = guess(from);
        __builtin_prefetch(at_.data() + place);
        __builtin_prefetch(host_.data() + place);
        __builtin_prefetch(host_.data() + place + kLineHosts);
        const std::int32_t* gpus = gpu_.data() + place * stride_;
        for (std::size_t line = 0; line < kPrefetchedLines; ++line) {
            __builtin_prefetch(gpus + line * kLineMillis);
        }
    }

private:
    static constexpr std::size_t kLineHosts = 4;
    static constexpr std::size_t kLineMillis = 16;
    static constexpr std::size_t kPrefetchedLines = 4;

    // So many amounts are compared at once.
    static constexpr std::size_t kLanes = 4;
    static_assert(kMaxGpus % kLanes == 0);

    static Step nothing();
    // About where after(at) is: steps come at an even pace, more or less.
    [[nodiscard]] std::size_t guess(EpochMs at) const;
    // The place of the step at exactly `at`, made when there is none.
    std::size_t split(EpochMs at);
    // Removes the step at `place` when it changes nothing.
    void join(std::size_t place);
    void note_ends();
    // Raises `peak` to the step; true when that raised anything.
    bool raise(Peak& peak, std::size_t place) const;
    [[nodiscard]] bool is_full(const Peak& peak, GpuBits gpus) const;
    // The first of a few steps from `place` on that would raise `peak`, or the last of them.
    [[nodiscard]] EpochMs next_rise(std::size_t place, const Peak& peak) const;

    std::vector<EpochMs> at_;
    std::vector<HostAmount> host_;
    // Of each step the amounts of all GPUs, filled up with zeros to whole lanes: stride_ of them.
    std::vector<std::int32_t> gpu_;
    std::size_t gpus_ = 0;
    std::size_t stride_ = 0;
    // Kept here so that a guess reads none of the arrays.
    EpochMs first_at_ = 0;
    EpochMs last_at_ = 0;
    EpochMs quiet_from_ = std::numeric_limits<EpochMs>::min();
};

}  // namespace compute::capacity
