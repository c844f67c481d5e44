#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/capacity.h"

#include "tests/support/test_plane.h"

namespace compute::capacity {
namespace {

using support::TestPlane;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Projects : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity_module()}};

    Json create(const std::string& name, const std::string& key, Json more = Json::object()) {
        more["tenantId"] = "acme";
        more["name"] = name;
        more["idempotencyKey"] = key;
        return plane.call("projects/create", TestPlane::admin_of("acme"), more);
    }
    Json call(const std::string& method, Json input) {
        input["tenantId"] = "acme";
        return plane.call("projects/" + method, TestPlane::admin_of("acme"), input);
    }
    ComputeError error_of(const std::string& method, Json input) {
        input["tenantId"] = "acme";
        return plane.error_of("projects/" + method, TestPlane::admin_of("acme"), input);
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, Projects, support::both_engines(), support::engine_name);

TEST_P(Projects, M99_TheSameKeyReplaysTheOneProjectWithoutADecision) {
    const Json first = create("vision", "k-1");
    plane.clear();

    EXPECT_EQ(create("vision", "k-1"), first);

    EXPECT_EQ(plane.iam.decisions(), 0);
    EXPECT_THAT(plane.audit(), SizeIs(1));
    EXPECT_THAT(call("list", Json::object()).at("items"), SizeIs(1));
}

TEST_P(Projects, M100_TheFirstCallIsDecidedOnTheTenant) {
    create("vision", "k-1");

    std::vector<iam::ResourceRef> required;
    for (const auto& call : plane.iam.calls()) {
        if (call.what == "require") {
            required.push_back(call.resource);
        }
    }
    EXPECT_THAT(required, ::testing::ElementsAre(iam::ResourceRef{"compute-tenant", "acme"}));
}

TEST_P(Projects, CreateNeedsAKeyAndRefusesOneUsedForAnotherRequest) {
    EXPECT_EQ(error_of("create", {{"name", "vision"}}).code(), ErrorCode::InvalidInput);
    create("vision", "k-1");
    EXPECT_EQ(
        error_of("create", {{"name", "speech"}, {"idempotencyKey", "k-1"}}).details()->at("reason"),
        "idempotency-key-reused"
    );
}

TEST_P(Projects, ATakenNameIsAConflict) {
    const Json project = create("vision", "k-1");
    const auto error = error_of("create", {{"name", "vision"}, {"idempotencyKey", "k-2"}});
    EXPECT_EQ(*error.details(), (Json{{"reason", "name-taken"}, {"projectId", project.at("id")}}));
}

TEST_P(Projects, UpdateGuardsTheVersionAndTellsWhatChanged) {
    const Json project = create("vision", "k-1", {{"description", "old"}});

    const Json after = call(
        "update",
        {{"projectId", project.at("id")},
         {"version", 1},
         {"description", nullptr},
         {"labels", {{"a", "b"}}}}
    );

    EXPECT_EQ(after.at("version"), 2);
    EXPECT_FALSE(after.contains("description"));
    EXPECT_EQ(plane.outbox().back().data.at("changed"), (Json{"description", "labels"}));
    EXPECT_EQ(plane.attributes_of("project", project.at("id")).at("labels"), Json::array({"a=b"}));
    EXPECT_EQ(
        error_of(
            "update", {{"projectId", project.at("id")}, {"version", 1}, {"labels", Json::object()}}
        )
            .details()
            ->at("reason"),
        "version"
    );
    EXPECT_EQ(call("update", {{"projectId", project.at("id")}, {"labels", {{"a", "b"}}}}), after);
    EXPECT_THAT(plane.outbox(), SizeIs(2));
}

TEST_P(Projects, ArchivingFreesTheNameAndEndsChanges) {
    const Json project = create("vision", "k-1");

    const Json archived = call("archive", {{"projectId", project.at("id")}});

    EXPECT_EQ(archived.at("state"), "archived");
    EXPECT_EQ(call("archive", {{"projectId", project.at("id")}}), archived);
    EXPECT_EQ(call("get", {{"projectId", project.at("id")}}), archived);
    EXPECT_EQ(
        error_of("update", {{"projectId", project.at("id")}, {"labels", Json::object()}}).code(),
        ErrorCode::InvalidState
    );
    EXPECT_THAT(call("list", Json::object()).at("items"), IsEmpty());
    EXPECT_THAT(call("list", {{"state", "archived"}}).at("items"), SizeIs(1));
    EXPECT_EQ(create("vision", "k-1").at("state"), "archived");
    EXPECT_NE(create("vision", "k-2").at("id"), project.at("id"));
    EXPECT_EQ(plane.outbox()[1].type, "project.archived");
}

TEST_P(Projects, AnotherTenantsProjectIsAsIfItWereNotThere) {
    const Json project = create("vision", "k-1");
    const std::string absent = "prj_0123456789abcdefghjkmnpqrs";
    for (const std::string method : {"get", "update", "archive"}) {
        const auto theirs = plane.error_of(
            "projects/" + method,
            TestPlane::admin_of("other"),
            {{"tenantId", "other"}, {"projectId", project.at("id")}}
        );
        const auto nothing = plane.error_of(
            "projects/" + method,
            TestPlane::admin_of("other"),
            {{"tenantId", "other"}, {"projectId", absent}}
        );
        EXPECT_EQ(theirs.code(), ErrorCode::NotFound) << method;
        EXPECT_EQ(theirs.message(), nothing.message()) << method;
    }
}

TEST_P(Projects, ListGoesPageByPage) {
    create("c", "k-1");
    create("a", "k-2");
    create("b", "k-3");

    const Json first = call("list", {{"limit", 2}});
    const Json second = call("list", {{"limit", 2}, {"cursor", first.at("nextCursor")}});

    EXPECT_EQ(first.at("items")[0].at("name"), "a");
    EXPECT_EQ(first.at("items")[1].at("name"), "b");
    ASSERT_THAT(second.at("items"), SizeIs(1));
    EXPECT_EQ(second.at("items")[0].at("name"), "c");
}

}  // namespace
}  // namespace compute::capacity
