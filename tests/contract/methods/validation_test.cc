// Rows about validation: M50-M55, M57-M65.
#include "schema/described.h"
#include "schema/sample.h"

#include "tests/contract/methods/lab.h"
#include "tests/contract/methods/schema_probes.h"

namespace compute::contract {
namespace {

// The input of the reference page's own example.
struct Rotate {
    std::string tenant_id;
    std::string webhook_id;
    std::optional<std::int64_t> keep_previous_seconds;
};

schema::Manifest<Rotate> rotate_manifest() {
    return schema::Manifest<Rotate>()
        .required("tenantId", &Rotate::tenant_id, schema::tenant_id())
        .required("webhookId", &Rotate::webhook_id, schema::id_of("whk_"))
        .optional(
            "keepPreviousSeconds",
            &Rotate::keep_previous_seconds,
            schema::integer({.min = 0, .max = 86'400})
        );
}

const std::string kWebhook = "whk_" + std::string(26, '0');

Json rotate_input(const Json& changes = Json::object()) {
    Json input{{"tenantId", "acme"}, {"webhookId", kWebhook}};
    input.update(changes);
    return input;
}

std::string problem(const Json& input) {
    try {
        (void)rotate_manifest().parse(input);
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        return error.message();
    }
    return "none";
}

TEST(Validation, M50_UnknownFieldsAreRefused) {
    EXPECT_EQ(problem(rotate_input({{"x", 1}})), "Unknown field x");
}

TEST(Validation, M51_AStringWithAPattern) {
    EXPECT_EQ(problem(rotate_input()), "none");
    EXPECT_EQ(problem(rotate_input({{"webhookId", "whk_" + std::string(52, 'z')}})), "none");
    EXPECT_THAT(
        problem(rotate_input({{"webhookId", "whk_" + std::string(25, '0')}})),
        StartsWith("webhookId: ")
    );
    EXPECT_THAT(
        problem(rotate_input({{"webhookId", "whk_" + std::string(53, '0')}})),
        StartsWith("webhookId: ")
    );
    for (const char letter : {'i', 'l', 'o', 'u', 'A', '\n'}) {
        EXPECT_THAT(
            problem(rotate_input({{"webhookId", "whk_" + std::string(25, '0') + letter}})),
            StartsWith("webhookId: ")
        ) << letter;
    }
    EXPECT_THAT(problem(rotate_input({{"webhookId", kWebhook + "\n"}})), StartsWith("webhookId: "));
}

TEST(Validation, M52_TheTenantIdPattern) {
    EXPECT_EQ(problem(rotate_input({{"tenantId", std::string(128, 'a')}})), "none");
    EXPECT_EQ(problem(rotate_input({{"tenantId", "A.b_c:d-9"}})), "none");
    for (const std::string& bad :
         {std::string(129, 'a'),
          std::string("a/b"),
          std::string(),
          std::string("a b"),
          std::string("a\n")}) {
        EXPECT_THAT(problem(rotate_input({{"tenantId", bad}})), StartsWith("tenantId: ")) << bad;
    }
}

TEST(Validation, M53_AnIntegerWithBounds) {
    for (const Json& good : {Json(0), Json(86'400), Json(5.0)}) {
        EXPECT_EQ(problem(rotate_input({{"keepPreviousSeconds", good}})), "none");
    }
    EXPECT_EQ(problem(rotate_input()), "none");
    for (const Json& bad :
         {Json(-1), Json(86'401), Json(1.5), Json("5"), Json(nullptr), Json(true), Json(1e300)}) {
        EXPECT_THAT(
            problem(rotate_input({{"keepPreviousSeconds", bad}})),
            StartsWith("keepPreviousSeconds: ")
        ) << bad.dump();
    }
}

TEST(Validation, M54_AMissingRequiredField) {
    EXPECT_THAT(problem(Json::object()), HasSubstr("Required"));
}

TEST(Validation, M55_OnlyTheFirstProblemInFieldOrderIsNamed) {
    const std::string message = problem({{"tenantId", ""}, {"webhookId", 7}, {"x", 1}});

    EXPECT_THAT(message, StartsWith("tenantId: "));
    EXPECT_EQ(message.find("webhookId"), std::string::npos);
    EXPECT_EQ(message.find("Unknown"), std::string::npos);
}

class Validators : public Contract {};
COMPUTE_BOTH_ENGINES(Validators);

TEST_P(Validators, M57_AnotherExceptionOfAValidatorIsAnInternalError) {
    Method<Plain> method = plain(Kind::Read);
    method.validate = [](const Json&) -> Plain {
        throw std::runtime_error("postgres://user:password@host");
    };
    LabPlane plane(GetParam(), {lab({entry("things", "get", method)})});

    const auto error =
        plane.error_of("things/get", TestPlane::admin_of("acme"), {{"tenantId", "acme"}});

    EXPECT_EQ(error.code(), ErrorCode::InternalError);
    EXPECT_EQ(error.message(), "Internal server error");
    EXPECT_TRUE(plane.messages.mentions("password"));
}

TEST(Validation, M58_AMethodCarriesTheSchemaOfItsInput) {
    const auto definition = method::define_method(plain(Kind::Read));

    EXPECT_EQ(*definition.json_schema, plain_manifest().json_schema());
}

TEST(Validation, M59_AManifestYieldsItsJsonSchema) {
    const Json schema = rotate_manifest().json_schema();

    EXPECT_EQ(schema.at("type"), "object");
    EXPECT_EQ(schema.at("additionalProperties"), false);
    EXPECT_EQ(schema.at("required"), Json::array({"tenantId", "webhookId"}));
    EXPECT_EQ(
        schema.at("properties").at("webhookId").at("pattern"), "^whk_[0-9a-hjkmnp-tv-z]{26,52}$"
    );
    EXPECT_EQ(
        schema.at("properties").at("keepPreviousSeconds"),
        Json({{"type", "integer"}, {"minimum", 0}, {"maximum", 86'400}})
    );
}

// What describedBy makes of a validator written by hand.
struct Counted {
    std::int64_t count = 0;
};

schema::Described<Counted> counted(int* runs = nullptr) {
    return schema::described_by(
        schema::strict_object(
            {{"tenantId", {{"type", "string"}}},
             {"count", {{"type", "integer"}}},
             {"mode", {{"enum", {"fast", "slow"}}}},
             {"items", {{"type", "array"}, {"items", {{"type", "string"}}}}}},
            {"tenantId"}
        ),
        [runs](const Json& raw) {
            if (runs != nullptr) {
                ++*runs;
            }
            const auto count = raw.value("count", std::int64_t{0});
            if (count > 10) {
                throw invalid_input("count: at most 10");
            }
            return Counted{count};
        }
    );
}

ComputeError refused_by(const schema::Described<Counted>& described, const Json& input) {
    try {
        (void)described.validate(input);
    } catch (const ComputeError& error) {
        return error;
    }
    ADD_FAILURE() << "accepted " << input.dump();
    return internal_error("");
}

TEST(Validation, M60_TheStructureIsCheckedBeforeTheDomain) {
    int runs = 0;
    const auto described = counted(&runs);

    for (const Json& input :
         {Json{{"tenantId", 5}},
          Json{{"count", 1}},
          Json{{"tenantId", "a"}, {"x", 1}},
          Json{{"tenantId", "a"}, {"mode", "odd"}},
          Json::array()}) {
        EXPECT_EQ(refused_by(described, input).code(), ErrorCode::InvalidInput);
    }

    EXPECT_EQ(runs, 0);
}

TEST(Validation, M61_EveryStructuralIssueIsReportedAtOnce) {
    const auto error = refused_by(counted(), {{"count", "5"}, {"x", 1}, {"items", {"a", 7}}});

    ASSERT_NE(error.details(), nullptr);
    const Json& issues = error.details()->at("issues");
    ASSERT_EQ(issues.size(), 4U);
    std::vector<std::string> paths;
    for (const Json& issue : issues) {
        EXPECT_TRUE(issue.at("message").is_string());
        paths.push_back(issue.at("path").get<std::string>());
    }
    EXPECT_THAT(paths, testing::UnorderedElementsAre("tenantId", "count", "items[1]", "x"));
}

TEST(Validation, M62_ThenTheDomainRules) {
    EXPECT_EQ(
        refused_by(counted(), {{"tenantId", "a"}, {"count", 11}}).message(), "count: at most 10"
    );
    EXPECT_EQ(counted().validate({{"tenantId", "a"}, {"count", 10}}).count, 10);
}

TEST(Validation, M63_AStrictObjectRefusesUnknownFields) {
    const auto error = refused_by(counted(), {{"tenantId", "a"}, {"extra", 1}});

    EXPECT_EQ(error.details()->at("issues").at(0).at("path"), "extra");
    EXPECT_THROW((void)schema::strict_object(Json::object(), {"missing"}), ComputeError);
}

TEST(Validation, M65_SchemaAndValidatorAgree) {
    std::vector<method::MethodDefinition> definitions{
        method::define_method(plain(Kind::Read)), method::define_method(claim_method())};
    Method<Counted> by_hand;
    by_hand.input(counted());
    definitions.push_back(method::define_method(by_hand));

    for (const auto& definition : definitions) {
        const Json good = schema::sample_inputs(*definition.json_schema).front();
        EXPECT_TRUE(accepts(definition, good)) << good.dump();
        EXPECT_THAT(schema::structural_issues(*definition.json_schema, good), IsEmpty());
        for (const Json& broken : broken_inputs(*definition.json_schema, good)) {
            EXPECT_FALSE(accepts(definition, broken)) << broken.dump();
            EXPECT_FALSE(schema::structural_issues(*definition.json_schema, broken).empty())
                << broken.dump();
        }
    }
}

}  // namespace
}  // namespace compute::contract
