#include "method/outcomes.h"

#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "method/context.h"

#include "tests/unit/method/definitions.h"

namespace compute::method {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

Counts counts_of(const Outcomes& outcomes) {
    Counts counts;
    for (const OutcomeCount& one : outcomes.counts()) {
        counts[one.path + " " + one.code] = one.count;
    }
    return counts;
}

class OutcomesTest : public ::testing::Test {
protected:
    OutcomesTest() { registry.add(module_of({entry_of(deciding("compute:pools:read", "pool"))})); }

    Registry registry;
};

TEST_F(OutcomesTest, NothingHappenedIsNothingCounted) {
    const Outcomes outcomes(registry);

    EXPECT_TRUE(outcomes.counts().empty());
    EXPECT_TRUE(outcomes.durations().empty());
}

TEST_F(OutcomesTest, EachCodeOfEachMethodIsCountedByItself) {
    Outcomes outcomes(registry);
    const RegisteredMethod* method = registry.find("pools/get");

    outcomes.count(method, std::nullopt, 10);
    outcomes.count(method, std::nullopt, 20);
    outcomes.count(method, ErrorCode::InvalidInput, 1);
    outcomes.count(method, ErrorCode::IamUnavailable, 2);
    outcomes.count(nullptr, ErrorCode::NotFound, 4);

    EXPECT_EQ(
        counts_of(outcomes),
        (Counts{
            {"pools/get OK", 2},
            {"pools/get INVALID_INPUT", 1},
            {"pools/get IAM_UNAVAILABLE", 1},
            {" NOT_FOUND", 1}})
    );
}

TEST_F(OutcomesTest, EveryCodeHasAPlace) {
    Outcomes outcomes(registry);
    const RegisteredMethod* method = registry.find("pools/get");
    for (const ErrorInfo& info : error_table()) {
        outcomes.count(method, info.code, 0);
    }

    EXPECT_EQ(counts_of(outcomes).size(), error_table().size());
}

TEST_F(OutcomesTest, DurationsAddUpOverAllCodes) {
    Outcomes outcomes(registry);
    const RegisteredMethod* method = registry.find("pools/get");

    outcomes.count(method, std::nullopt, 1'000);
    outcomes.count(method, ErrorCode::Conflict, 500);

    ASSERT_EQ(outcomes.durations().size(), 1U);
    EXPECT_EQ(outcomes.durations()[0].path, "pools/get");
    EXPECT_EQ(outcomes.durations()[0].count, 2U);
    EXPECT_EQ(outcomes.durations()[0].total_us, 1'500U);
}

TEST_F(OutcomesTest, AMethodOfAnotherRegistryIsNotCounted) {
    Registry other;
    other.add(module_of({entry_of(deciding("compute:pools:read", "pool"))}));
    Outcomes outcomes(registry);

    outcomes.count(other.find("pools/get"), std::nullopt, 1);

    EXPECT_TRUE(outcomes.counts().empty());
}

TEST_F(OutcomesTest, CountingFromManyThreadsLosesNothing) {
    Outcomes outcomes(registry);
    const RegisteredMethod* method = registry.find("pools/get");
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&] {
                for (int i = 0; i < 10'000; ++i) {
                    outcomes.count(method, std::nullopt, 1);
                }
            });
        }
    }

    EXPECT_EQ(counts_of(outcomes), (Counts{{"pools/get OK", 40'000}}));
    EXPECT_EQ(outcomes.durations()[0].total_us, 40'000U);
}

TEST(DraftId, PartsCannotRunIntoEachOther) {
    const auto id = [](const char* tenant, const char* identity, const char* key) {
        return draft_id("rsv_", TenantId(tenant), IdentityId(identity), key);
    };
    const std::set<std::string> ids{
        id("a", "bc", "d"),
        id("ab", "c", "d"),
        id("a", "b", "cd"),
        id("abc", "", "d"),
        id("", "abc", "d"),
        id("1:a", "b", "cd"),
        id("a", "1:b", "cd")};

    EXPECT_EQ(ids.size(), 7U);
    EXPECT_EQ(id("a", "bc", "d"), id("a", "bc", "d"));
}

}  // namespace
}  // namespace compute::method
