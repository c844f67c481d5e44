#include "modules/events/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seeded_rng.h"

namespace compute::events {
namespace {

using ::testing::HasSubstr;

net::AttemptResult status(int code) {
    net::AttemptResult result;
    result.outcome = net::Outcome::Answered;
    result.status = code;
    return result;
}

TEST(Policy, TheTableSumsToFortyFourHoursThirtySix) {
    const config::DeliveryPolicy policy;
    std::int64_t sum = 0;
    for (int attempt = 1; attempt < policy.max_attempts; ++attempt) {
        sum += backoff_ms(policy, attempt);
    }

    EXPECT_EQ(sum, 160'560'000);
    EXPECT_EQ(backoff_ms(policy, 50), 86'400'000);
    EXPECT_EQ(backoff_ms(policy, 0), 60'000);
}

TEST(Policy, ASuccessDelivers) {
    for (const int code : {200, 204, 299}) {
        const Verdict verdict = judge({}, status(code), 8, 1000, nullptr);

        EXPECT_EQ(verdict.state, DeliveryState::Delivered);
        EXPECT_EQ(verdict.status, code);
        EXPECT_FALSE(verdict.error);
        EXPECT_FALSE(verdict.next_at);
    }
}

TEST(Policy, TheLastAttemptIsDead) {
    EXPECT_EQ(judge({}, status(500), 7, 1000, nullptr).state, DeliveryState::Pending);
    EXPECT_EQ(judge({}, status(500), 8, 1000, nullptr).state, DeliveryState::Dead);
    EXPECT_EQ(judge({}, status(410), 1, 1000, nullptr).state, DeliveryState::Dead);
}

TEST(Policy, RetryAfterOnlyLengthensUpToADay) {
    const auto next =
        [](int code, std::optional<std::int64_t> after_seconds, std::optional<EpochMs> at = {}) {
            net::AttemptResult result = status(code);
            result.retry_after = net::RetryAfter{after_seconds, at};
            return *judge({}, result, 1, 1000, nullptr).next_at - 1000;
        };

    EXPECT_EQ(next(429, 3600), 3'600'000);
    EXPECT_EQ(next(503, 3600), 3'600'000);
    EXPECT_EQ(next(503, 5), 60'000);
    EXPECT_EQ(next(500, 3600), 60'000);
    EXPECT_EQ(next(429, 999'999'999'999), 86'400'000);
    EXPECT_EQ(next(429, std::nullopt, 301'000), 300'000);
    EXPECT_EQ(next(429, std::nullopt, 0), 60'000);
    EXPECT_EQ(next(429, -5), 60'000);
}

TEST(Policy, JitterOnlyLengthensByATenth) {
    support::SeededRng rng;
    for (int i = 0; i < 1000; ++i) {
        const EpochMs next = *judge({}, status(500), 1, 0, &rng).next_at;
        EXPECT_GE(next, 60'000);
        EXPECT_LE(next, 66'000);
    }
}

TEST(Policy, ErrorsAreBoundedBetweenCodePoints) {
    net::AttemptResult result;
    result.error = std::string(511, 'x') + "\xc3\xa9";

    EXPECT_EQ(judge({}, result, 1, 0, nullptr).error->size(), 511U);
    EXPECT_EQ(judge({}, status(404), 1, 0, nullptr).error, "HTTP status 404");
}

}  // namespace
}  // namespace compute::events
