#include "cli/input.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace compute::cli {
namespace {

Json words(const std::vector<std::string>& list) {
    return object_of_words(Json::object(), list);
}

TEST(Words, AreTextUnlessTheyAreJson) {
    EXPECT_EQ(
        words({"name=h100", "count:=8", "on:=true", "text=8"}),
        Json({{"name", "h100"}, {"count", 8}, {"on", true}, {"text", "8"}})
    );
    EXPECT_EQ(words({"url=https://h/x?a=b"}), Json({{"url", "https://h/x?a=b"}}));
    EXPECT_EQ(words({"empty="}), Json({{"empty", ""}}));
    EXPECT_EQ(words({"list:=[1,2]", "n:=-1"}), Json({{"list", Json::array({1, 2})}, {"n", -1}}));
}

TEST(Words, ReachIntoObjectsAndLists) {
    EXPECT_EQ(
        words({"a.b=c", "a.d:=1", "events[]=pool.*", "events[]=node.*", "x.l[]:={\"k\":1}"}),
        Json(
            {{"a", {{"b", "c"}, {"d", 1}}},
             {"events", {"pool.*", "node.*"}},
             {"x", {{"l", Json::array({{{"k", 1}}})}}}}
        )
    );
}

TEST(Words, GoOverTheData) {
    EXPECT_EQ(object_of_words({{"a", 1}, {"b", 2}}, {"b=x"}), Json({{"a", 1}, {"b", "x"}}));
}

TEST(Words, ReadAFile) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("better-compute-words-" + std::to_string(::getpid()));
    std::ofstream(path) << "[1,2]";

    EXPECT_EQ(words({"list:=@" + path.string()}).at("list"), Json::array({1, 2}));

    std::filesystem::remove(path);
}

TEST(Words, ThatAreNoneAreToldByName) {
    for (const char* word :
         {"name",
          "=x",
          ":=x",
          ":=",
          "a:=",
          "a:={",
          "a..b=1",
          ".a=1",
          "a.=1",
          "[]=1",
          "a[].b=1",
          "a:=@/nowhere/file",
          "a:={\"x\":1,\"x\":2}"}) {
        EXPECT_ANY_THROW(static_cast<void>(words({word}))) << word;
    }
    EXPECT_THROW(static_cast<void>(words({"a=1", "a.b=2"})), UsageError);
    EXPECT_THROW(static_cast<void>(words({"a=1", "a[]=2"})), UsageError);
    EXPECT_THROW(static_cast<void>(object_of_words(Json::array(), {})), UsageError);
}

TEST(Select, NamesMembersAndElements) {
    const Json value = {{"a", {{"b", Json::array({{{"c", 1}}, {{"c", "x"}}})}}}, {"s", "t"}};

    EXPECT_EQ(select(value, "s"), std::vector<Json>{"t"});
    EXPECT_EQ(select(value, "a.b[].c"), (std::vector<Json>{1, "x"}));
    EXPECT_EQ(select(value, "a.b[]").size(), 2U);
    EXPECT_EQ(select(value, ""), std::vector<Json>{value});
    EXPECT_EQ(select(Json::array({1, 2}), "[]"), (std::vector<Json>{1, 2}));
}

TEST(Select, RefusesWhatIsNotThere) {
    const Json value = {{"a", 1}};
    for (const char* query : {"b", "a.b", "a[]", "a[", "a]", "..", "[]"}) {
        EXPECT_THROW(static_cast<void>(select(value, query)), ComputeError) << query;
    }
}

TEST(Durations, HaveAUnit) {
    EXPECT_EQ(find_duration_ms("30s"), 30'000);
    EXPECT_EQ(find_duration_ms("15m"), 900'000);
    EXPECT_EQ(find_duration_ms("2h"), 7'200'000);
    EXPECT_EQ(find_duration_ms("3d"), 259'200'000);
    for (const char* text :
         {"", "3", "d", "-1d", "1.5h", "3w", "100001d", "99999999999999999999s", "3 d", "3dd"}) {
        EXPECT_FALSE(find_duration_ms(text)) << text;
    }
}

TEST(Times, AreAbsoluteOrAgo) {
    constexpr EpochMs kNow = 1'790'244'902'000;

    EXPECT_EQ(time_of_argument("2h", "--since", kNow), kNow - 7'200'000);
    EXPECT_EQ(time_of_argument("1970-01-02", "--since", kNow), 86'400'000);
    EXPECT_EQ(time_of_argument("1970-01-01T00:00:01Z", "--since", kNow), 1000);
    EXPECT_THROW(static_cast<void>(time_of_argument("yesterday", "--since", kNow)), UsageError);
}

}  // namespace
}  // namespace compute::cli
