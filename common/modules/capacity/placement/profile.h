// How much is used over time: a step function, zero before its first step. Windows are half-open,
// so what ends at t and what begins at t never add up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/clock.h"

namespace compute::capacity {

inline constexpr EpochMs kEverMs = std::numeric_limits<EpochMs>::max();

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

// Makes `peak` the larger of both, member by member; true when that raised it.
inline bool raise_to(std::int64_t& peak, std::int64_t amount) {
    if (amount <= peak) {
        return false;
    }
    peak = amount;
    return true;
}
inline bool raise_to(HostAmount& peak, const HostAmount& amount) {
    const bool has_more_cpu = raise_to(peak.cpu_milli, amount.cpu_milli);
    const bool has_more_memory = raise_to(peak.memory_mib, amount.memory_mib);
    return has_more_cpu || has_more_memory;
}

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

template <class Amount>
class Profile {
public:
    struct Step {
        EpochMs at;
        Amount amount;  // from `at` until the next step
    };

    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

    void add(EpochMs from, EpochMs to, const Amount& amount) {
        if (from >= to || amount == Amount{}) {
            return;
        }
        const std::size_t first = split(from);
        const std::size_t last = to == kEverMs ? steps_.size() : split(to);
        for (std::size_t i = first; i < last; ++i) {
            steps_[i].amount += amount;
        }
        // Only at the two ends may neighbours have become equal.
        if (last < steps_.size()) {
            join(last);
        }
        join(first);
    }

    // Lets go of what ended before `now`; what is used from then on stays.
    void forget_before(EpochMs now) {
        const auto next = after(now);
        if (next - steps_.begin() > 1) {
            steps_.erase(steps_.begin(), next - 1);
        }
    }

    void shrink() { steps_.shrink_to_fit(); }

    // The most that is used at one instant of [from, to). Narrows `reach` to the windows around
    // that have the same peak.
    [[nodiscard]] Amount peak(EpochMs from, EpochMs to, Reach& reach) const {
        Amount peak{};
        auto step = after(from);
        if (step != steps_.begin()) {
            reach.from_low = std::max(reach.from_low, (step - 1)->at);
            raise_to(peak, (step - 1)->amount);
        }
        if (step == steps_.end()) {
            return peak;
        }
        reach.from_high = std::min(reach.from_high, step->at);
        for (; step != steps_.end() && step->at < to; ++step) {
            if (raise_to(peak, step->amount)) {
                reach.to_low = std::max(reach.to_low, step->at);
            }
        }
        reach.to_high = std::min(reach.to_high, next_rise(step, peak));
        return peak;
    }

    // The first instant of [from, to) at which `is_too_much(amount)`; `to` when there is none.
    template <class Predicate>
    [[nodiscard]] EpochMs find_first(EpochMs from, EpochMs to, Predicate is_too_much) const {
        auto step = after(from);
        if (is_too_much(step == steps_.begin() ? Amount{} : (step - 1)->amount)) {
            return from;
        }
        for (; step != steps_.end() && step->at < to; ++step) {
            if (is_too_much(step->amount)) {
                return step->at;
            }
        }
        return to;
    }

    // From when on nothing is used; kEverMs when there is no such time.
    [[nodiscard]] EpochMs quiet_from() const {
        if (steps_.empty()) {
            return std::numeric_limits<EpochMs>::min();
        }
        return steps_.back().amount == Amount{} ? steps_.back().at : kEverMs;
    }

private:
    // How far a window's end is followed for the sake of later windows.
    static constexpr int kLookAhead = 8;

    using Iterator = typename std::vector<Step>::const_iterator;

    // The first step later than `at`.
    [[nodiscard]] Iterator after(EpochMs at) const {
        return std::upper_bound(
            steps_.begin(),
            steps_.end(),
            at,
            [](EpochMs time, const Step& step) { return time < step.at; }
        );
    }

    [[nodiscard]] EpochMs next_rise(Iterator step, Amount peak) const {
        for (int i = 0; step != steps_.end(); ++step, ++i) {
            if (i == kLookAhead || raise_to(peak, step->amount)) {
                return step->at;
            }
        }
        return kEverMs;
    }

    // The place of the step at exactly `at`, made when there is none.
    std::size_t split(EpochMs at) {
        const auto next = after(at);
        const auto place = static_cast<std::size_t>(next - steps_.begin());
        if (place > 0 && steps_[place - 1].at == at) {
            return place - 1;
        }
        const Amount amount = place == 0 ? Amount{} : steps_[place - 1].amount;
        steps_.insert(next, Step{at, amount});
        return place;
    }

    // Removes the step at `place` when it changes nothing.
    void join(std::size_t place) {
        const Amount before = place == 0 ? Amount{} : steps_[place - 1].amount;
        if (steps_[place].amount == before) {
            steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(place));
        }
    }

    std::vector<Step> steps_;
};

using GpuProfile = Profile<std::int64_t>;
using HostProfile = Profile<HostAmount>;

}  // namespace compute::capacity
