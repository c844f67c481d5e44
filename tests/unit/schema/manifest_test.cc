#include "schema/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "schema/sample.h"
#include "schema/text.h"

namespace compute::schema {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problem(const Shape& shape, const Json& value) {
    try {
        (void)shape.check(value, "f");
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        return error.message();
    }
    return "none";
}

Field field(std::string name, Shape shape, bool is_required = true) {
    return {
        .name = std::move(name),
        .shape = std::move(shape),
        .is_required = is_required,
        .description = ""};
}

TEST(StringShape, CountsCodePointsAndNotBytes) {
    const Shape shape = string({.pattern = "", .min_length = 2, .max_length = 3});

    EXPECT_EQ(problem(shape, "äöü"), "none");
    EXPECT_EQ(problem(shape, "äöüß"), "f: must have at most 3 characters");
    EXPECT_EQ(problem(shape, "€"), "f: must have at least 2 characters");
    EXPECT_EQ(problem(shape, 7), "f: must be a string");
}

TEST(StringShape, RefusesWhatIsNoText) {
    for (const std::string& bad :
         {std::string("\xff"),
          std::string("\xc0\x80"),
          std::string("\xed\xa0\x80"),
          std::string("a\0b", 3),
          std::string("\xf4\x90\x80\x80")}) {
        EXPECT_EQ(problem(string(), bad), "f: must be valid UTF-8 without U+0000");
    }
}

TEST(StringShape, ThePatternSeesOnlyTextWithinTheBound) {
    const Shape shape = string({.pattern = "^(a|aa)+$", .min_length = 0, .max_length = 10});

    EXPECT_EQ(problem(shape, std::string(65'000, 'a') + "b"), "f: must have at most 10 characters");
    EXPECT_EQ(problem(shape, "ab"), "f: must match ^(a|aa)+$");
    EXPECT_EQ(problem(shape, "a\n"), "f: must match ^(a|aa)+$");
}

TEST(StringShape, ABrokenPatternIsRefusedWhenItIsMade) {
    EXPECT_THROW((void)string({.pattern = "("}), ComputeError);
}

TEST(Text, CountsCodePoints) {
    EXPECT_EQ(find_code_points(""), 0U);
    EXPECT_EQ(find_code_points("a€😀"), 3U);
    EXPECT_EQ(find_code_points("\xe2\x82"), std::nullopt);
}

TEST(IntegerShape, OneIsOneHoweverItIsWritten) {
    const Shape shape = integer({.min = -5, .max = 5});

    for (const Json& one : {Json(1), Json(1.0), Json(1U), parse_json("1e0")}) {
        const Json checked = shape.check(one, "f");
        EXPECT_TRUE(checked.is_number_integer());
        EXPECT_EQ(checked.dump(), "1");
    }
    EXPECT_EQ(shape.check(Json(-0.0), "f").dump(), "0");
    EXPECT_EQ(problem(shape, 6), "f: must be at most 5");
    EXPECT_EQ(problem(shape, -6), "f: must be at least -5");
    for (const Json& bad :
         {Json(1.5),
          Json("1"),
          Json(true),
          Json(nullptr),
          Json(1e300),
          Json(18446744073709551615U)}) {
        EXPECT_EQ(problem(shape, bad), "f: must be an integer") << bad.dump();
    }
}

TEST(ArrayShape, NamesTheItem) {
    const Shape shape =
        array(string({.pattern = "^[a-z]+$"}), {.min_items = 1, .max_items = 3, .unique = true});

    EXPECT_EQ(problem(shape, {"a", "b"}), "none");
    EXPECT_EQ(problem(shape, Json::array()), "f: must have at least 1 items");
    EXPECT_EQ(problem(shape, {"a", "b", "c", "d"}), "f: must have at most 3 items");
    EXPECT_EQ(problem(shape, {"a", "B"}), "f[1]: must match ^[a-z]+$");
    EXPECT_EQ(problem(shape, {"a", "a"}), "f[1]: is there twice");
}

TEST(MapShape, ChecksKeysAndValues) {
    EXPECT_EQ(problem(labels(), {{"a", "b"}}), "none");
    EXPECT_THAT(
        problem(labels(), {{std::string(64, 'k'), "b"}}),
        HasSubstr("at most 63 characters (the key)")
    );
    EXPECT_EQ(problem(labels(), {{"a", 7}}), "f.a: must be a string");
    Json many = Json::object();
    for (int i = 0; i < 33; ++i) {
        many["k" + std::to_string(i)] = "v";
    }
    EXPECT_EQ(problem(labels(), many), "f: must have at most 32 entries");
}

TEST(ObjectShape, NamesTheFirstProblemInFieldOrder) {
    const Shape shape = object({field("b", integer()), field("a", string())});

    EXPECT_EQ(problem(shape, {{"a", 1}, {"x", 1}}), "f.b: Required");
    EXPECT_EQ(problem(shape, {{"a", 1}, {"b", 1}, {"x", 1}}), "f.a: must be a string");
    EXPECT_EQ(problem(shape, {{"a", ""}, {"b", 1}, {"x", 1}}), "Unknown field f.x");
    EXPECT_EQ(problem(shape, 7), "f: must be an object");
}

TEST(ObjectShape, EchoesOnlyTheStartOfALongName) {
    const std::string message = problem(object({}), {{std::string(5'000, 'x'), 1}});

    EXPECT_LT(message.size(), 100U);
}

TEST(ObjectShape, ExactlyOneOfAndMinFields) {
    const Shape shape = object(
        {{.name = "a", .shape = integer(), .is_required = false, .description = ""},
         {.name = "b", .shape = integer(), .is_required = false, .description = ""}},
        {.exactly_one_of = {{"a", "b"}}, .min_fields = 1}
    );

    EXPECT_EQ(problem(shape, {{"a", 1}}), "none");
    EXPECT_EQ(problem(shape, Json::object()), "f: exactly one of a, b must be given");
    EXPECT_EQ(problem(shape, {{"a", 1}, {"b", 1}}), "f: exactly one of a, b must be given");
    EXPECT_EQ(shape.json_schema().at("minProperties"), 1);
    EXPECT_THROW((void)object({}, {.exactly_one_of = {{"z"}}, .min_fields = 0}), ComputeError);
}

TEST(EitherShape, SaysWhatIsWrongWithTheAlternativeThatFits) {
    const Shape shape = either({one_of({"all"}), integer({.min = 1})});

    EXPECT_EQ(problem(shape, "all"), "none");
    EXPECT_EQ(problem(shape, 3), "none");
    EXPECT_EQ(problem(shape, 0), "f: must be at least 1");
    EXPECT_EQ(problem(shape, "some"), "f: must be one of all");
    EXPECT_EQ(problem(shape, true), "f: must be a string or an integer");
}

TEST(NullableShape, TakesNull) {
    EXPECT_EQ(problem(integer().nullable(), nullptr), "none");
    EXPECT_EQ(integer().nullable().json_schema().at("type"), Json::array({"integer", "null"}));
    EXPECT_EQ(one_of({"a"}).nullable().json_schema().at("enum"), Json::array({"a", nullptr}));
}

struct Update {
    std::string id;
    std::optional<std::optional<std::string>> text;
    std::vector<std::string> tags{"default"};
};

TEST(ManifestBinding, DistinguishesAbsentNullAndAValue) {
    const auto manifest = Manifest<Update>()
                              .required("id", &Update::id, string())
                              .nullable("text", &Update::text, string())
                              .defaulted("tags", &Update::tags, array(string()));

    EXPECT_FALSE(manifest.parse({{"id", "a"}}).text.has_value());
    EXPECT_TRUE(manifest.parse({{"id", "a"}, {"text", nullptr}}).text.has_value());
    EXPECT_EQ(**manifest.parse({{"id", "a"}, {"text", "t"}}).text, "t");
    EXPECT_THAT(manifest.parse({{"id", "a"}}).tags, ElementsAre("default"));
    EXPECT_THAT(manifest.parse({{"id", "a"}, {"tags", {"x", "y"}}}).tags, ElementsAre("x", "y"));
}

TEST(ManifestBinding, RulesRunOnTheWholeInput) {
    const auto manifest =
        Manifest<Update>().required("id", &Update::id, string()).rule([](const Update& update) {
            if (update.id == "bad") {
                throw invalid_input("id: not this one");
            }
        });

    EXPECT_THROW((void)manifest.parse({{"id", "bad"}}), ComputeError);
    EXPECT_NO_THROW((void)manifest.parse({{"id", "good"}}));
}

TEST(AnyObject, NormalizesNumbersAtAnyDepth) {
    EXPECT_EQ(any_object().check({{"a", {1.0, {{"b", 2.0}}}}}, "").dump(), R"({"a":[1,{"b":2}]})");
}

TEST(Sample, FindsTextForTheSharedPatterns) {
    for (const Shape& shape : {tenant_id(), id_of("whk_"), name(), idempotency_key()}) {
        const Json schema = shape.json_schema();
        const auto text = find_matching_text(schema.at("pattern"), schema.value("minLength", 0U));
        ASSERT_TRUE(text.has_value()) << schema.dump();
        EXPECT_EQ(problem(shape, *text), "none");
    }
}

TEST(Sample, IsAcceptedByTheShapeItCameFrom) {
    const Shape shape = object(
        {field("tenantId", tenant_id()),
         field("ids", array(id_of("whk_"), {.min_items = 2})),
         field("mode", one_of({"a", "b"})),
         field("limit", integer({.min = 3}), false),
         field("labels", labels(), false)}
    );

    const auto samples = sample_inputs(shape.json_schema());

    EXPECT_EQ(samples.size(), 4U);
    for (const Json& sample : samples) {
        EXPECT_EQ(problem(shape, sample), "none") << sample.dump();
    }
}

TEST(JsonSchema, IsStable) {
    const auto make = [] {
        return object({field("b", integer()), field("a", string())}).json_schema().dump();
    };

    EXPECT_EQ(make(), make());
    EXPECT_THAT(make(), HasSubstr(R"("required":["a","b"])"));
}

}  // namespace
}  // namespace compute::schema
