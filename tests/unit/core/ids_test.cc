#include "core/ids.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/seeded_rng.h"

namespace compute {
namespace {

TEST(Crockford32, MatchesKnownValues) {
    EXPECT_EQ(crockford32(""), "");
    EXPECT_EQ(crockford32(std::string(1, '\0')), "00");
    EXPECT_EQ(crockford32("\xFF"), "zw");
    EXPECT_EQ(crockford32("\xFF\xFF\xFF\xFF\xFF"), "zzzzzzzz");
    EXPECT_EQ(crockford32("hello"), "d1jprv3f");
}

TEST(NewId, IsPrefixAnd26CharactersOfTheAlphabet) {
    support::FakeClock clock;
    support::SeededRng rng;

    const std::string id = new_id("evt_", clock, rng);

    ASSERT_EQ(id.size(), 30U);
    EXPECT_EQ(id.substr(0, 4), "evt_");
    EXPECT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz", 4), std::string::npos);
}

TEST(NewId, SortsByTime) {
    support::FakeClock clock;
    support::SeededRng rng;
    const std::string first = new_id("a_", clock, rng);
    clock.advance(std::chrono::milliseconds{1});

    EXPECT_LT(first, new_id("a_", clock, rng));
}

TEST(NewId, DoesNotRepeat) {
    support::FakeClock clock;
    support::SeededRng rng;
    std::set<std::string> seen;
    for (int i = 0; i < 10'000; ++i) {
        seen.insert(new_id("x_", clock, rng));
    }
    EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace compute
