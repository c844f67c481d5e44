#include "core/wake.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace compute {
namespace {

TEST(WakeHub, CallsTheSubscribersOfTheChannelOnly) {
    WakeHub hub;
    int outbox = 0;
    int other = 0;
    const auto first = hub.subscribe("outbox", [&] { ++outbox; });
    const auto second = hub.subscribe("other", [&] { ++other; });

    hub.wake("outbox");
    hub.wake("nobody");

    EXPECT_EQ(outbox, 1);
    EXPECT_EQ(other, 0);
}

TEST(WakeHub, NothingIsCalledAfterTheSubscriptionEnds) {
    WakeHub hub;
    int calls = 0;
    {
        const auto subscription = hub.subscribe("a", [&] { ++calls; });
    }
    hub.wake("a");
    EXPECT_EQ(calls, 0);
}

TEST(WakeHub, SubscriptionMayOutliveTheHub) {
    std::unique_ptr<WakeHub::Subscription> subscription;
    {
        WakeHub hub;
        subscription = hub.subscribe("a", [] {});
    }
    EXPECT_NO_THROW(subscription.reset());
}

TEST(WakeHub, WakingAndSubscribingRaceSafely) {
    WakeHub hub;
    std::atomic<bool> stop{false};
    std::atomic<int> calls{0};
    std::jthread waker([&] {
        while (!stop) {
            hub.wake("a");
        }
    });
    for (int i = 0; i < 500; ++i) {
        const auto subscription = hub.subscribe("a", [&] { ++calls; });
        while (calls <= i) {
            std::this_thread::yield();
        }
    }
    stop = true;
    EXPECT_GE(calls, 500);
}

}  // namespace
}  // namespace compute
