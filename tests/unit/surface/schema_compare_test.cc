#include "surface/schema_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "surface/schema_accepts.h"

namespace compute::surface {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> broken(const Json& before, const Json& after) {
    Comparison comparison;
    compare_schemas(before, after, "a/b", "", comparison);
    std::vector<std::string> out;
    for (const Change& change : comparison.breaking) {
        out.push_back(change.rule + " " + change.pointer);
    }
    return out;
}

std::vector<std::string> added(const Json& before, const Json& after) {
    Comparison comparison;
    compare_schemas(before, after, "a/b", "", comparison);
    EXPECT_THAT(comparison.breaking, IsEmpty());
    std::vector<std::string> out;
    for (const Change& change : comparison.additions) {
        out.push_back(change.rule + " " + change.pointer);
    }
    return out;
}

Json object(Json properties, Json required = Json::array()) {
    return Json{
        {"type", "object"},
        {"properties", std::move(properties)},
        {"required", std::move(required)},
        {"additionalProperties", false}};
}
const Json kText{{"type", "string"}, {"maxLength", 10}};
const Json kNumber{{"type", "integer"}, {"minimum", 1}, {"maximum", 9}};

TEST(SchemaCompare, AnnotationsMayChange) {
    Json after = kText;
    after["description"] = "new words";
    EXPECT_THAT(broken(kText, after), IsEmpty());
    EXPECT_THAT(added(kText, after), IsEmpty());
}

TEST(SchemaCompare, ANewOptionalFieldIsAnAddition) {
    EXPECT_THAT(
        added(object({{"a", kText}}), object({{"a", kText}, {"b", kText}})),
        ElementsAre("field-added /properties/b")
    );
}

TEST(SchemaCompare, M153_ARequiredFieldBreaksNewOrOld) {
    EXPECT_THAT(
        broken(object({{"a", kText}}), object({{"a", kText}}, {"a"})),
        ElementsAre("field-required /required")
    );
    EXPECT_THAT(
        broken(object({{"a", kText}}), object({{"a", kText}, {"b", kText}}, {"b"})),
        ElementsAre("field-required /required")
    );
    EXPECT_THAT(
        added(object({{"a", kText}}, {"a"}), object({{"a", kText}})),
        ElementsAre("field-optional /required")
    );
}

TEST(SchemaCompare, ARemovedFieldBreaksAndItsNameIsEscaped) {
    EXPECT_THAT(
        broken(object({{"a/b~c", kText}}), object(Json::object())),
        ElementsAre("field-removed /properties/a~1b~0c")
    );
}

TEST(SchemaCompare, M153_TighterBoundsBreakAndWiderOnesDoNot) {
    const auto with = [](Json base, const char* keyword, Json value) {
        base[keyword] = std::move(value);
        return base;
    };
    EXPECT_THAT(
        broken(kNumber, with(kNumber, "minimum", 2)), ElementsAre("bound-tightened /minimum")
    );
    EXPECT_THAT(
        broken(kNumber, with(kNumber, "maximum", 8)), ElementsAre("bound-tightened /maximum")
    );
    EXPECT_THAT(
        broken(kNumber, with(kNumber, "multipleOf", 2)), ElementsAre("bound-tightened /multipleOf")
    );
    EXPECT_THAT(
        broken(kText, with(kText, "maxLength", 9)), ElementsAre("bound-tightened /maxLength")
    );
    EXPECT_THAT(
        broken(kText, with(kText, "minLength", 1)), ElementsAre("bound-tightened /minLength")
    );
    EXPECT_THAT(added(kNumber, with(kNumber, "minimum", 0)), ElementsAre("bound-widened /minimum"));
    EXPECT_THAT(
        added(kNumber, with(kNumber, "maximum", 10)), ElementsAre("bound-widened /maximum")
    );
    EXPECT_THAT(added(kText, Json{{"type", "string"}}), ElementsAre("bound-widened /maxLength"));
}

TEST(SchemaCompare, PatternsBreakWhenAddedOrChanged) {
    Json a = kText;
    Json b = kText;
    a["pattern"] = "^a";
    b["pattern"] = "^b";
    EXPECT_THAT(broken(kText, a), ElementsAre("pattern-added /pattern"));
    EXPECT_THAT(broken(a, b), ElementsAre("pattern-changed /pattern"));
    EXPECT_THAT(added(a, kText), ElementsAre("pattern-removed /pattern"));
}

TEST(SchemaCompare, M153_LostValuesOfAListBreak) {
    const Json both{{"type", "string"}, {"enum", {"a", "b"}}};
    const Json one{{"type", "string"}, {"enum", {"a"}}};
    const Json turned{{"type", "string"}, {"enum", {"b", "a"}}};
    EXPECT_THAT(broken(both, one), ElementsAre("enum-value-lost /enum"));
    EXPECT_THAT(added(one, both), ElementsAre("enum-value-added /enum"));
    EXPECT_THAT(added(both, turned), IsEmpty());
    EXPECT_THAT(broken(kText, both), ElementsAre("enum-added /enum"));
    EXPECT_THAT(added(both, kText), ElementsAre("schema-widened "));
    EXPECT_THAT(
        broken(both, Json{{"type", "string"}, {"pattern", "^a$"}}),
        ElementsAre("enum-value-lost /enum")
    );
}

TEST(SchemaCompare, TypesMayWidenOnly) {
    const Json nullable{{"type", {"string", "null"}}, {"maxLength", 10}};
    EXPECT_THAT(broken(nullable, kText), ElementsAre("nullable-lost /type"));
    EXPECT_THAT(added(kText, nullable), ElementsAre("type-widened /type"));
    EXPECT_THAT(
        broken(Json{{"type", "number"}}, Json{{"type", "integer"}}),
        ElementsAre("type-narrowed /type")
    );
    EXPECT_THAT(
        added(Json{{"type", "integer"}}, Json{{"type", "number"}}),
        ElementsAre("type-widened /type")
    );
}

TEST(SchemaCompare, BoundsOfATypeThatWasNotTakenBreakNothing) {
    EXPECT_THAT(
        added(kText, Json{{"type", {"string", "integer"}}, {"maxLength", 10}, {"minimum", 5}}),
        ElementsAre("type-widened /type")
    );
}

TEST(SchemaCompare, ItemsAreJudgedInside) {
    const Json before{{"type", "array"}, {"items", kNumber}, {"maxItems", 3}};
    Json after = before;
    after["items"]["maximum"] = 5;
    EXPECT_THAT(broken(before, after), ElementsAre("bound-tightened /items/maximum"));
    after = before;
    after["uniqueItems"] = true;
    EXPECT_THAT(broken(before, after), ElementsAre("bound-tightened /uniqueItems"));
    after = before;
    after.erase("items");
    EXPECT_TRUE(is_widening(before, after));
    EXPECT_FALSE(is_widening(after, before));
}

TEST(SchemaCompare, ClosingAnObjectBreaks) {
    const Json open{{"type", "object"}};
    EXPECT_THAT(
        broken(open, Json{{"type", "object"}, {"additionalProperties", false}}),
        ElementsAre("additional-properties-closed /additionalProperties")
    );
    EXPECT_TRUE(is_widening(object({{"a", kText}}), open));
    const Json map{{"type", "object"}, {"additionalProperties", kText}};
    EXPECT_FALSE(is_widening(open, map));
    EXPECT_FALSE(is_widening(map, object({{"a", kText}})));
    EXPECT_TRUE(is_widening(object({{"a", kText}}), map));
}

TEST(SchemaCompare, MapsAreJudgedByNamesAndValues) {
    const Json before{
        {"type", "object"},
        {"propertyNames", kText},
        {"additionalProperties", kText},
        {"maxProperties", 4}};
    Json after = before;
    after["propertyNames"]["maxLength"] = 5;
    EXPECT_THAT(broken(before, after), ElementsAre("bound-tightened /propertyNames/maxLength"));
    after = before;
    after["additionalProperties"]["maxLength"] = 5;
    EXPECT_THAT(
        broken(before, after), ElementsAre("bound-tightened /additionalProperties/maxLength")
    );
}

TEST(SchemaCompare, AlternativesMayBeAddedNotLost) {
    const Json two{{"anyOf", {kText, kNumber}}};
    EXPECT_TRUE(is_widening(kText, two));
    EXPECT_TRUE(is_widening(Json{{"anyOf", {kNumber}}}, two));
    EXPECT_THAT(broken(two, Json{{"anyOf", {kText}}}), ElementsAre("alternative-lost /anyOf/1"));
    EXPECT_FALSE(is_widening(two, kText));
    EXPECT_TRUE(is_widening(two, Json{{"type", {"string", "integer"}}}));
}

TEST(SchemaCompare, ExactlyOneOfMayGainAFieldThatIsNew) {
    const auto group = [](std::vector<std::string> names) {
        Json choices = Json::array();
        for (const auto& name : names) {
            choices.push_back(Json{{"required", {name}}});
        }
        return Json{{"oneOf", choices}};
    };
    Json before = object({{"a", kText}, {"b", kText}});
    before["allOf"] = {group({"a", "b"})};
    Json after = object({{"a", kText}, {"b", kText}, {"c", kText}});
    after["allOf"] = {group({"a", "b", "c"})};
    Json plain = object({{"a", kText}, {"b", kText}});
    EXPECT_TRUE(is_widening(before, after));
    EXPECT_FALSE(is_widening(after, before));
    EXPECT_TRUE(is_widening(before, plain));
    EXPECT_THAT(broken(plain, before), ElementsAre("composition-changed /allOf/0"));
}

TEST(SchemaCompare, AKeywordThatCannotBeJudgedBreaks) {
    Json after = kText;
    after["contentEncoding"] = "base64";
    EXPECT_THAT(broken(kText, after), ElementsAre("unknown-keyword /contentEncoding"));
    EXPECT_THAT(broken(after, kText), ElementsAre("unknown-keyword /contentEncoding"));
    EXPECT_THAT(broken(after, after), IsEmpty());
}

}  // namespace
}  // namespace compute::surface
