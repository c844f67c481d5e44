#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "surface/surface.h"

namespace compute::surface {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Json kMethod{
    {"kind", "mutation"},
    {"action", "compute:pools:create"},
    {"resource", "tenant"},
    {"alternatives", Json::array({Json{{"action", "compute:pools:admin"}, {"resource", "fleet"}}})},
    {"list", false},
    {"status", "served"},
    {"phase", 1},
    {"input",
     {{"type", "object"},
      {"properties", {{"name", {{"type", "string"}, {"maxLength", 63}}}}},
      {"additionalProperties", false}}}};

Json surface_of(Json method) {
    return Json{
        {"version", 1},
        {"methods", {{"pools/create", std::move(method)}}},
        {"errors", {{"CONFLICT", 409}, {"NOT_FOUND", 404}}}};
}

Json with(const char* field, Json value) {
    Json method = kMethod;
    method[field] = std::move(value);
    return method;
}

std::vector<std::string> named(const std::vector<Change>& changes) {
    std::vector<std::string> out;
    for (const Change& change : changes) {
        out.push_back(change.rule + " " + change.method + " " + change.pointer);
    }
    return out;
}

std::vector<std::string> broken(const Json& before, const Json& after) {
    return named(compare(before, after).breaking);
}
std::vector<std::string> added(const Json& before, const Json& after) {
    return named(compare(before, after).additions);
}

const Json kRecorded = surface_of(kMethod);

TEST(SurfaceCompare, M150_EveryFrozenFieldIsReportedWithMethodAndPointer) {
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("kind", "read"))),
        ElementsAre("kind-changed pools/create /methods/pools~1create/kind")
    );
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("action", "compute:pools:make"))),
        ElementsAre("action-changed pools/create /methods/pools~1create/action")
    );
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("resource", "pool"))),
        ElementsAre("resource-changed pools/create /methods/pools~1create/resource")
    );
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("list", true))),
        ElementsAre("list-changed pools/create /methods/pools~1create/list")
    );
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("alternatives", Json::array()))),
        ElementsAre("alternatives-changed pools/create /methods/pools~1create/alternatives")
    );
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("status", "planned"))),
        ElementsAre("method-removed pools/create /methods/pools~1create/status")
    );
    EXPECT_THAT(
        broken(kRecorded, surface_of(with("input", nullptr))),
        ElementsAre("schema-lost pools/create /methods/pools~1create/input")
    );
    EXPECT_THAT(
        added(kRecorded, surface_of(with("phase", 2))),
        ElementsAre("phase-changed pools/create /methods/pools~1create/phase")
    );
}

TEST(SurfaceCompare, M150_TheInputIsComparedInside) {
    Json after = kRecorded;
    after["methods"]["pools/create"]["input"]["properties"]["name"]["maxLength"] = 62;
    EXPECT_THAT(
        broken(kRecorded, after),
        ElementsAre(
            "bound-tightened pools/create /methods/pools~1create/input/properties/name/maxLength"
        )
    );
    EXPECT_EQ(compare(kRecorded, after).breaking[0].message, "was 63, is 62");
}

TEST(SurfaceCompare, M151_ANewMethodIsAnAddition) {
    Json after = kRecorded;
    after["methods"]["pools/get"] = kMethod;
    EXPECT_THAT(broken(kRecorded, after), IsEmpty());
    EXPECT_THAT(added(kRecorded, after), ElementsAre("method-added pools/get /methods/pools~1get"));
}

TEST(SurfaceCompare, M152_ARemovedMethodBreaksAndSoDoesAnotherRoute) {
    Json after = kRecorded;
    after["methods"].erase("pools/create");
    after["methods"]["pool/create"] = kMethod;
    EXPECT_THAT(
        broken(kRecorded, after), ElementsAre("method-removed pools/create /methods/pools~1create")
    );
}

TEST(SurfaceCompare, M154_WhatWasPlannedMayChangeFreely) {
    Json planned = with("status", "planned");
    planned.erase("input");
    Json other = planned;
    other["action"] = "compute:pools:other";
    EXPECT_THAT(broken(surface_of(planned), surface_of(other)), IsEmpty());
    EXPECT_THAT(broken(surface_of(planned), kRecorded), IsEmpty());
    Json gone = surface_of(planned);
    gone["methods"].erase("pools/create");
    EXPECT_THAT(broken(surface_of(planned), gone), IsEmpty());
}

TEST(SurfaceCompare, M155_RecordingFreezesAnAddition) {
    Json grown = kRecorded;
    grown["methods"]["pools/get"] = kMethod;
    EXPECT_TRUE(compare(kRecorded, grown).is_ok());

    const Json recorded = Json::parse(record_surface(kRecorded, grown));

    EXPECT_THAT(
        broken(recorded, kRecorded), ElementsAre("method-removed pools/get /methods/pools~1get")
    );
}

TEST(SurfaceCompare, M158_AnErrorCodeKeepsItsStatus) {
    Json after = kRecorded;
    after["errors"]["CONFLICT"] = 400;
    EXPECT_THAT(broken(kRecorded, after), ElementsAre("error-status-changed  /errors/CONFLICT"));
    after = kRecorded;
    after["errors"].erase("NOT_FOUND");
    EXPECT_THAT(broken(kRecorded, after), ElementsAre("error-removed  /errors/NOT_FOUND"));
    after = kRecorded;
    after["errors"]["TEAPOT"] = 418;
    EXPECT_THAT(added(kRecorded, after), ElementsAre("error-added  /errors/TEAPOT"));
}

TEST(SurfaceCompare, RecordingRefusesABreakingChangeUnlessAllowed) {
    const Json after = surface_of(with("action", "compute:pools:make"));
    try {
        (void)record_surface(kRecorded, after);
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidState);
        EXPECT_EQ(error.details()->at("breaking").size(), 1U);
        EXPECT_THAT(error.hint(), HasSubstr("--allow-breaking"));
    }
    EXPECT_EQ(record_surface(kRecorded, after, BreakingChanges::Allow), surface_text(after));
    EXPECT_EQ(record_surface(std::nullopt, after), surface_text(after));
}

TEST(SurfaceCompare, WhatIsNoSurfaceIsRefused) {
    for (const Json& document :
         {Json(),
          Json::array(),
          Json::object(),
          Json{{"version", 2}, {"methods", Json::object()}, {"errors", Json::object()}},
          Json{{"version", 1}, {"methods", {{"a/b", 1}}}, {"errors", Json::object()}}}) {
        EXPECT_THROW((void)compare(document, kRecorded), ComputeError) << document;
    }
}

TEST(SurfaceCompare, TheReportIsSortedAndReadable) {
    Json after = surface_of(with("resource", "pool"));
    after["methods"]["pools/create"]["action"] = "compute:pools:make";
    after["errors"]["CONFLICT"] = 400;
    after["methods"]["pools/get"] = kMethod;
    const Comparison comparison = compare(kRecorded, after);

    EXPECT_EQ(
        comparison_text(comparison),
        "breaking (3)\n"
        "  error codes\n"
        "    ! error-status-changed /errors/CONFLICT: was 409, is 400\n"
        "  pools/create\n"
        "    ! action-changed /action: was \"compute:pools:create\", is \"compute:pools:make\"\n"
        "    ! resource-changed /resource: was \"tenant\", is \"pool\"\n"
        "additions (1), not recorded yet\n"
        "  pools/get\n"
        "    + method-added: a new served method\n"
    );
    const Json json = comparison_json(comparison);
    EXPECT_EQ(json.at("ok"), false);
    EXPECT_EQ(json.at("breaking").size(), 3U);
    EXPECT_EQ(
        json.at("additions")[0],
        (Json{
            {"rule", "method-added"},
            {"method", "pools/get"},
            {"pointer", "/methods/pools~1get"},
            {"message", "a new served method"}})
    );
    EXPECT_EQ(comparison_text(compare(kRecorded, kRecorded)), "");
}

}  // namespace
}  // namespace compute::surface
