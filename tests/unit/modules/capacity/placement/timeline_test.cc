#include "modules/capacity/placement/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <vector>

namespace compute::capacity {
namespace {

constexpr EpochMs kLast = 24;  // no window ends later, but those without end

struct Use {
    EpochMs from = 0;
    EpochMs to = 0;
    int gpu = -1;
    std::int64_t milli = 0;
    HostAmount host;
};

Use any_use(int gpus) {
    Use use;
    use.from = *rc::gen::inRange<EpochMs>(0, kLast);
    use.to = *rc::gen::weightedOneOf<EpochMs>(
        {{9, rc::gen::inRange<EpochMs>(use.from + 1, kLast + 1)}, {1, rc::gen::just(kEverMs)}}
    );
    use.gpu = *rc::gen::inRange(-1, gpus);
    use.milli = use.gpu < 0 ? 0 : *rc::gen::element<std::int64_t>(100, 500, 1'000);
    use.host.cpu_milli = *rc::gen::element<std::int64_t>(0, 1'000, 4'000);
    use.host.memory_mib = *rc::gen::element<std::int64_t>(0, 512);
    return use;
}

// What is used at each instant, summed up anew for each question.
class Dense {
public:
    explicit Dense(int gpus) : gpus_(gpus) {}

    void add(const Use& use) { uses_.push_back(use); }
    void remove(std::size_t place) { uses_.erase(uses_.begin() + static_cast<long>(place)); }
    [[nodiscard]] const std::vector<Use>& uses() const { return uses_; }

    [[nodiscard]] Peak at(EpochMs instant) const {
        Peak sum;
        for (const Use& use : uses_) {
            if (use.from <= instant && instant < use.to) {
                sum.host += use.host;
                if (use.gpu >= 0) {
                    sum.gpu_milli[static_cast<std::size_t>(use.gpu)] +=
                        static_cast<std::int32_t>(use.milli);
                }
            }
        }
        return sum;
    }
    // Behind kLast nothing begins or ends.
    [[nodiscard]] Peak peak(EpochMs from, EpochMs to) const {
        Peak most;
        for (EpochMs instant = from; instant < std::min(to, kLast + 2); ++instant) {
            const Peak now = at(instant);
            most.host.cpu_milli = std::max(most.host.cpu_milli, now.host.cpu_milli);
            most.host.memory_mib = std::max(most.host.memory_mib, now.host.memory_mib);
            for (int gpu = 0; gpu < gpus_; ++gpu) {
                const auto place = static_cast<std::size_t>(gpu);
                most.gpu_milli[place] = std::max(most.gpu_milli[place], now.gpu_milli[place]);
            }
        }
        return most;
    }
    [[nodiscard]] bool is_quiet_from(EpochMs instant) const {
        return std::none_of(uses_.begin(), uses_.end(), [&](const Use& use) {
            return use.to > instant && (use.milli != 0 || use.host != HostAmount{});
        });
    }

private:
    int gpus_;
    std::vector<Use> uses_;
};

void add(Timeline& timeline, const Use& use, std::int64_t sign) {
    timeline.add(
        use.from,
        use.to,
        use.gpu,
        sign * use.milli,
        {.cpu_milli = sign * use.host.cpu_milli, .memory_mib = sign * use.host.memory_mib}
    );
}

void expect_equal(const Peak& one, const Peak& other) {
    RC_ASSERT(one.host == other.host);
    RC_ASSERT(one.gpu_milli == other.gpu_milli);
}

EpochMs any_end(EpochMs from) {
    return *rc::gen::weightedOneOf<EpochMs>(
        {{9, rc::gen::inRange<EpochMs>(from + 1, kLast + 2)}, {1, rc::gen::just(kEverMs)}}
    );
}

// A timeline and the plain model of it, with uses that came, and some that went again.
struct Pair {
    int gpus = *rc::gen::inRange(0, kMaxGpus + 1);
    Timeline timeline;
    Dense dense{gpus};

    Pair() {
        timeline.reset(static_cast<std::size_t>(gpus));
        for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
            if (!dense.uses().empty() && *rc::gen::inRange(0, 4) == 0) {
                const auto gone = *rc::gen::inRange<std::size_t>(0, dense.uses().size());
                add(timeline, dense.uses()[gone], -1);
                dense.remove(gone);
                continue;
            }
            const Use use = any_use(gpus);
            add(timeline, use, 1);
            dense.add(use);
        }
    }
};

TEST(Timeline, PeaksAreThoseOfEveryInstantSummedUp) {
    EXPECT_TRUE(rc::check("peaks", [] {
        const Pair pair;
        const EpochMs from = *rc::gen::inRange<EpochMs>(-1, kLast + 1);
        const EpochMs to = any_end(from);

        const Peak peak = pair.timeline.peak(from, to, 0);

        expect_equal(peak, pair.dense.peak(from, to));
        RC_ASSERT(!peak.is_full);
        RC_ASSERT(peak.reach.covers(from, to));
    }));
}

TEST(Timeline, EveryWindowWithinReachHasTheSamePeaks) {
    EXPECT_TRUE(rc::check("reach", [] {
        const Pair pair;
        const EpochMs from = *rc::gen::inRange<EpochMs>(0, kLast);
        const EpochMs to = any_end(from);
        const Peak peak = pair.timeline.peak(from, to, 0);

        const EpochMs other_from = *rc::gen::inRange<EpochMs>(0, kLast);
        const EpochMs other_to = any_end(other_from);

        if (peak.reach.covers(other_from, other_to)) {
            expect_equal(peak, pair.dense.peak(other_from, other_to));
        }
    }));
}

TEST(Timeline, ReadingEndsEarlyOnlyWhenEveryGpuThatMattersIsFull) {
    EXPECT_TRUE(rc::check("full", [] {
        const Pair pair;
        const EpochMs from = *rc::gen::inRange<EpochMs>(0, kLast);
        const EpochMs to = any_end(from);
        const auto matters = static_cast<GpuBits>(*rc::gen::inRange(0, 1 << pair.gpus));

        const Peak peak = pair.timeline.peak(from, to, matters);

        const Peak whole = pair.dense.peak(from, to);
        bool is_full = matters != 0;
        for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
            const bool counts = (matters >> gpu & 1U) != 0;
            is_full = is_full && (!counts || whole.gpu_milli[gpu] >= kWholeGpuMilli);
            RC_ASSERT(!counts || !peak.is_full || peak.gpu_milli[gpu] >= kWholeGpuMilli);
        }
        RC_ASSERT(peak.is_full == is_full);
        if (!is_full) {
            expect_equal(peak, whole);
        }
        RC_ASSERT(peak.reach.covers(from, to));
    }));
}

TEST(Timeline, WhatIsForgottenChangesNothingFromThenOn) {
    EXPECT_TRUE(rc::check("forget", [] {
        Pair pair;
        const EpochMs now = *rc::gen::inRange<EpochMs>(0, kLast + 1);

        pair.timeline.forget_before(now);
        pair.timeline.shrink();

        const EpochMs from = *rc::gen::inRange<EpochMs>(now, kLast + 2);
        const EpochMs to = any_end(from);
        expect_equal(pair.timeline.peak(from, to, 0), pair.dense.peak(from, to));
    }));
}

TEST(Timeline, FindsTheFirstInstantOfAWindowAtWhichTooMuchIsUsed) {
    EXPECT_TRUE(rc::check("first", [] {
        const Pair pair;
        const EpochMs from = *rc::gen::inRange<EpochMs>(0, kLast);
        const EpochMs to = *rc::gen::inRange<EpochMs>(from + 1, kLast + 2);
        const auto most = *rc::gen::element<std::int64_t>(0, 1'000, 4'000, 9'000);

        const EpochMs found = pair.timeline.find_first(from, to, [&](const Timeline::Step& step) {
            return step.host.cpu_milli > most;
        });

        EpochMs expected = from;
        while (expected < to && pair.dense.at(expected).host.cpu_milli <= most) {
            ++expected;
        }
        RC_ASSERT(found == expected);
    }));
}

TEST(Timeline, KnowsFromWhenOnNothingIsUsed) {
    EXPECT_TRUE(rc::check("quiet", [] {
        const Pair pair;

        const EpochMs quiet = pair.timeline.quiet_from();

        RC_ASSERT(quiet == kEverMs || pair.dense.is_quiet_from(quiet));
        RC_ASSERT(quiet != kEverMs || !pair.dense.is_quiet_from(kLast + 1));
        for (EpochMs before = 0; before < std::min(quiet, kLast + 1); ++before) {
            RC_ASSERT(!pair.dense.is_quiet_from(before));
        }
    }));
}

TEST(Timeline, WhatWentAgainLeavesNoStep) {
    Timeline timeline;
    timeline.reset(2);
    timeline.add(10, 20, 0, 1'000, {.cpu_milli = 1'000, .memory_mib = 1});
    timeline.add(15, kEverMs, 1, 500, {});
    EXPECT_EQ(timeline.size(), 3U);
    timeline.add(15, kEverMs, 1, -500, {});
    EXPECT_EQ(timeline.size(), 2U);
    timeline.add(10, 20, 0, -1'000, {.cpu_milli = -1'000, .memory_mib = -1});
    EXPECT_EQ(timeline.size(), 0U);
}

}  // namespace
}  // namespace compute::capacity
