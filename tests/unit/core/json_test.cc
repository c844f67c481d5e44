#include "core/json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace compute {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
    try {
        static_cast<void>(parse_json(text));
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        return error.message();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
}

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParseJson, TakesEveryKindOfValue) {
    const Json value = parse_json(R"({"a":[1,-2,0.5,true,false,null,"x"],"b":{}})");

    EXPECT_EQ(value["a"].size(), 7U);
    EXPECT_TRUE(value["b"].is_object());
}

TEST(ParseJson, WholeNumbersAreIntegersHoweverWritten) {
    for (const char* text : {"1", "1.0", "1e0", "10e-1", "0.1e1"}) {
        const Json value = parse_json(text);
        EXPECT_TRUE(value.is_number_integer()) << text;
        EXPECT_EQ(value, 1) << text;
    }
}

TEST(ParseJson, MinusZeroIsZero) {
    for (const char* text : {"-0", "-0.0", "-0e5"}) {
        EXPECT_EQ(canonical_json(parse_json(text)), "0") << text;
    }
}

TEST(ParseJson, TakesIntegersUpToTwoToThe53AndNoFurther) {
    EXPECT_EQ(parse_json("9007199254740992"), 9007199254740992);
    EXPECT_EQ(parse_json("-9007199254740992"), -9007199254740992);
    EXPECT_THAT(refusal("9007199254740993"), HasSubstr("out of range"));
    EXPECT_THAT(refusal("-9007199254740993"), HasSubstr("out of range"));
    EXPECT_THAT(refusal("1e16"), HasSubstr("out of range"));
    EXPECT_THAT(refusal("18446744073709551616"), HasSubstr("out of range"));
    EXPECT_THAT(refusal("1e400"), HasSubstr("out of range"));
    EXPECT_THAT(refusal("-1e400"), HasSubstr("out of range"));
}

TEST(ParseJson, TakesNestingOf32AndRefuses33) {
    EXPECT_NO_THROW(static_cast<void>(parse_json(nested(kMaxJsonDepth))));
    EXPECT_THAT(refusal(nested(kMaxJsonDepth + 1)), HasSubstr("deeper than 32"));
    EXPECT_THAT(refusal(nested(200'000)), HasSubstr("deeper than 32"));
}

TEST(ParseJson, NamesADuplicateKey) {
    EXPECT_THAT(refusal(R"({"a":1,"a":2})"), HasSubstr("duplicate key \"a\""));
    EXPECT_THAT(refusal(R"({"x":{"b":1,"b":1}})"), HasSubstr("duplicate key \"b\""));
    EXPECT_THAT(refusal(R"({"a":1,"\u0061":2})"), HasSubstr("duplicate key"));
}

TEST(ParseJson, SameKeyInDifferentObjectsIsFine) {
    EXPECT_NO_THROW(static_cast<void>(parse_json(R"({"a":{"a":[{"a":1},{"a":2}]}})")));
}

TEST(ParseJson, RefusesWhatIsNotJson) {
    for (const char* text :
         {"",
          " ",
          "{",
          "[1,]",
          "{\"a\":1,}",
          "{a:1}",
          "'a'",
          "NaN",
          "Infinity",
          "01",
          "+1",
          ".5",
          "1.",
          "// c\n1",
          "/* c */ 1",
          "1 2",
          "{} x",
          "tru",
          "\"\\x\"",
          "\"\t\""}) {
        EXPECT_THAT(refusal(text), HasSubstr("not valid JSON")) << text;
    }
}

TEST(ParseJson, RefusesLoneSurrogatesAndTakesPairs) {
    EXPECT_EQ(parse_json(R"("\ud83d\ude00")"), "\xF0\x9F\x98\x80");
    for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")"}) {
        refusal(text);
    }
}

TEST(ParseJson, RefusesTheZeroCharacter) {
    EXPECT_THAT(refusal(R"("a\u0000b")"), HasSubstr("U+0000"));
    EXPECT_THAT(refusal(R"({"a\u0000":1})"), HasSubstr("U+0000"));
    refusal(std::string_view("\"a\0b\"", 5));
}

TEST(ParseJson, RefusesAByteOrderMarkAndInvalidUtf8) {
    EXPECT_THAT(refusal("\xEF\xBB\xBF{}"), HasSubstr("byte order mark"));
    refusal("\"\xC3\"");
    refusal("\"\xC0\x80\"");
    refusal("\"\xED\xA0\x80\"");
    refusal("\"\xF5\x80\x80\x80\"");
}

TEST(CanonicalJson, SortsKeysByCodePointAtEveryLevel) {
    const Json value = parse_json(R"({"b":1,"a":{"d":[],"c":"é"},"A":0})");

    EXPECT_EQ(canonical_json(value), R"({"A":0,"a":{"c":"é","d":[]},"b":1})");
}

TEST(CanonicalJson, LeavesOutDiscardedMembersAndKeepsNull) {
    Json value = Json::object();
    value["gone"] = Json(Json::value_t::discarded);
    value["null"] = nullptr;

    EXPECT_EQ(canonical_json(value), R"({"null":null})");
}

TEST(CanonicalJson, WritesWholeDoublesAsIntegers) {
    EXPECT_EQ(canonical_json(Json(2.0)), "2");
    EXPECT_EQ(canonical_json(Json(-0.0)), "0");
    EXPECT_EQ(canonical_json(Json(0.5)), "0.5");
}

TEST(DumpJson, ReplacesInvalidUtf8) {
    EXPECT_EQ(dump_json(Json("a\xFF")), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace compute
