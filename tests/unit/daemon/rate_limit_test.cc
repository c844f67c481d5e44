#include "daemon/rate_limit.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace compute::daemon {
namespace {

using std::chrono::milliseconds;

const crypto::Secret kFirst("first");
const crypto::Secret kSecond("second");

TEST(RateLimit, ASecondsWorthPassesAtOnceAndOneMoreDoesNot) {
    support::FakeClock clock;
    RateLimit limit(5, clock);

    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(limit.try_take(kFirst), std::nullopt) << i;
    }

    EXPECT_EQ(limit.try_take(kFirst), 200);
}

TEST(RateLimit, TheNextCallPassesWhenSaid) {
    support::FakeClock clock;
    RateLimit limit(2, clock);
    static_cast<void>(limit.try_take(kFirst));
    static_cast<void>(limit.try_take(kFirst));

    EXPECT_EQ(limit.try_take(kFirst), 500);
    clock.advance(milliseconds(499));
    EXPECT_EQ(limit.try_take(kFirst), 1);
    clock.advance(milliseconds(1));
    EXPECT_EQ(limit.try_take(kFirst), std::nullopt);
    EXPECT_EQ(limit.try_take(kFirst), 500);
}

TEST(RateLimit, CredentialsHaveBucketsOfTheirOwn) {
    support::FakeClock clock;
    RateLimit limit(1, clock);

    EXPECT_EQ(limit.try_take(kFirst), std::nullopt);
    EXPECT_EQ(limit.try_take(kSecond), std::nullopt);
    EXPECT_EQ(limit.try_take(kFirst), 1000);
    EXPECT_EQ(limit.try_take(kSecond), 1000);
}

TEST(RateLimit, RestNeverSavesMoreThanASecondsWorth) {
    support::FakeClock clock;
    RateLimit limit(3, clock);
    clock.advance(std::chrono::hours(1));

    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(limit.try_take(kFirst), std::nullopt) << i;
    }
    EXPECT_NE(limit.try_take(kFirst), std::nullopt);
}

TEST(RateLimit, TheNumberOfBucketsIsBounded) {
    support::FakeClock clock;
    RateLimit limit(1, clock);
    static_cast<void>(limit.try_take(kFirst));

    for (std::size_t i = 0; i < RateLimit::kMaxBuckets; ++i) {
        static_cast<void>(limit.try_take(crypto::Secret(std::to_string(i))));
    }

    EXPECT_EQ(limit.try_take(kFirst), std::nullopt) << "the oldest bucket was not given up";
}

}  // namespace
}  // namespace compute::daemon
