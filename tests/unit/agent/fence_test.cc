#include "agent/fence.h"

#include <gtest/gtest.h>

namespace compute::agent {
namespace {

TEST(Fence, ANodeThatNeverJoinedHasNothingToFence) {
    Fence fence;

    EXPECT_FALSE(fence.fires(1'000'000));
}

TEST(Fence, FiresOnceAtItsTimeAndNotBefore) {
    Fence fence;
    fence.arm(1000, 100'000);

    EXPECT_FALSE(fence.fires(100'999));
    EXPECT_TRUE(fence.fires(101'000));
    EXPECT_FALSE(fence.fires(102'000));
    EXPECT_TRUE(fence.has_fired());
}

TEST(Fence, CountsFromWhenTheAnsweredHeartbeatWasSent) {
    Fence fence;
    fence.arm(0, 100'000);
    fence.hold_off(5000);

    EXPECT_FALSE(fence.fires(104'999));
    EXPECT_TRUE(fence.fires(105'000));
}

TEST(Fence, AnAnswerToAnEarlierHeartbeatDoesNotTurnTimeBack) {
    Fence fence;
    fence.arm(0, 100'000);
    fence.hold_off(50'000);
    fence.hold_off(10'000);

    EXPECT_FALSE(fence.fires(149'999));
    EXPECT_TRUE(fence.fires(150'000));
}

TEST(Fence, AnAnswerAfterItFiredDoesNotLiftIt) {
    Fence fence;
    fence.arm(0, 100'000);
    ASSERT_TRUE(fence.fires(100'000));

    fence.hold_off(99'000);

    EXPECT_TRUE(fence.has_fired());
    fence.arm(120'000, 100'000);
    EXPECT_FALSE(fence.has_fired());
}

TEST(Fence, TheClockRunsForward) {
    const std::int64_t before = boottime_ms();

    EXPECT_GE(boottime_ms(), before);
    EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace compute::agent
