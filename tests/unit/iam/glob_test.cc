#include "iam/local/glob.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace compute::iam::local {
namespace {

// Says it the short way, in exponential time; good enough for a dozen characters.
bool naive_match(const std::string& pattern, const std::string& text) {
    if (pattern.empty()) {
        return text.empty();
    }
    if (pattern.front() == '*') {
        return naive_match(pattern.substr(1), text) ||
               (!text.empty() && naive_match(pattern, text.substr(1)));
    }
    return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
           naive_match(pattern.substr(1), text.substr(1));
}

bool matches(std::string_view pattern, std::string_view text, Fold fold = Fold::Exact) {
    return glob_matches(compile_glob(pattern), text, fold);
}

TEST(Glob, IsAnchoredAtBothEnds) {
    EXPECT_TRUE(matches("compute:pools:*", "compute:pools:read"));
    EXPECT_FALSE(matches("pools", "compute:pools:read"));
    EXPECT_FALSE(matches("compute:pools", "compute:pools:read"));
    EXPECT_FALSE(matches("pools:read", "compute:pools:read"));
}

TEST(Glob, AStarMayBeEmptyAndCrossesEverySeparator) {
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("a*", "a"));
    EXPECT_TRUE(matches("compute-*", "compute-pool/p/1:x"));
    EXPECT_TRUE(matches("*:read", "compute:pools:read"));
}

TEST(Glob, AQuestionMarkIsOneCharacterNotOneByte) {
    EXPECT_TRUE(matches("caf?", "caf\xC3\xA9"));
    EXPECT_FALSE(matches("caf??", "caf\xC3\xA9"));
    EXPECT_FALSE(matches("*??", "\xC3\xA9"));
    EXPECT_FALSE(matches("?", ""));
}

TEST(Glob, OtherCharactersStandForThemselves) {
    EXPECT_TRUE(matches("a.b[c]\\d+", "a.b[c]\\d+"));
    EXPECT_FALSE(matches("a.b", "axb"));
    EXPECT_FALSE(matches("[ab]", "a"));
}

TEST(Glob, AStarInAppendedTextIsNoWildcard) {
    EXPECT_TRUE(glob_matches(compile_glob("p/") + "*", "p/*"));
    EXPECT_FALSE(glob_matches(compile_glob("p/") + "*", "p/other"));
}

TEST(Glob, FoldsLettersOnlyWhenTold) {
    EXPECT_TRUE(matches("GPU-*", "gpu-h100", Fold::IgnoreCase));
    EXPECT_FALSE(matches("GPU-*", "gpu-h100"));
}

TEST(Glob, ManyStarsOverALongTextStayFast) {
    std::string pattern;
    for (int i = 0; i < 50; ++i) {
        pattern += "*a";
    }
    const std::string text(60'000, 'a');
    const auto start = std::chrono::steady_clock::now();

    EXPECT_FALSE(matches(pattern + "b", text));

    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Glob, AgreesWithANaiveMatcher) {
    EXPECT_TRUE(rc::check("glob equals the naive matcher", [] {
        const auto piece = rc::gen::element('a', 'b', '*', '?');
        const auto pattern = *rc::gen::resize(10, rc::gen::container<std::string>(piece));
        const auto text =
            *rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::element('a', 'b')));
        RC_ASSERT(matches(pattern, text) == naive_match(pattern, text));
    }));
}

}  // namespace
}  // namespace compute::iam::local
