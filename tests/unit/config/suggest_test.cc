#include "config/suggest.h"

#include <gtest/gtest.h>

namespace compute::config {
namespace {

TEST(Nearest, FindsASlip) {
    const std::vector<std::string> words = {"serve", "migrate", "doctor", "webhooks"};

    EXPECT_EQ(find_nearest("sevre", words), "serve");
    EXPECT_EQ(find_nearest("migrat", words), "migrate");
    EXPECT_EQ(find_nearest("webhook", words), "webhooks");
}

TEST(Nearest, DoesNotGuessWildly) {
    EXPECT_FALSE(find_nearest("xyz", {"serve", "doctor"}));
    EXPECT_FALSE(find_nearest("anything", {}));
    EXPECT_FALSE(find_nearest("", {"serve"}));
}

TEST(Nearest, TakesWordsOfAnyLength) {
    EXPECT_FALSE(find_nearest(std::string(100'000, 'a'), {"serve"}));
    EXPECT_EQ(find_nearest(std::string(70, 'a'), {std::string(80, 'a')}), std::string(80, 'a'));
}

}  // namespace
}  // namespace compute::config
