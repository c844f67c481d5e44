// quotas.set, get and list.
#include "tests/unit/modules/capacity/quota_rig.h"

namespace compute::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

INSTANTIATE_TEST_SUITE_P(Engines, Quotas, support::both_engines(), support::engine_name);

TEST_P(Quotas, ATenantsOwnLimitsAreDecidedOnTheFleet) {
    plane.iam.clear();

    set({{"gpuMilli", 64'000}});

    const auto calls = plane.iam.calls();
    EXPECT_EQ(calls.back().tenant, "root");
    EXPECT_EQ(calls.back().action, "compute:quotas:set");
    EXPECT_EQ(calls.back().resource, (iam::ResourceRef{"compute-fleet", "global"}));
}

TEST_P(Quotas, AProjectsLimitsAreDecidedOnTheProject) {
    const std::string id = project("vision");
    plane.iam.clear();

    set({{"gpuMilli", 8000}}, {{"projectId", id}});

    const auto calls = plane.iam.calls();
    EXPECT_EQ(calls.back().tenant, "acme");
    EXPECT_EQ(calls.back().resource, (iam::ResourceRef{"compute-project", id}));
}

TEST_P(Quotas, ATenantsAdministratorCannotRaiseItsOwnLimits) {
    plane.iam.set_policy([](const iam::Session& session, const iam::Question& question) {
        return question.tenant_id == session.caller.tenant_id;
    });

    const ComputeError error = plane.error_of(
        "quotas/set",
        TestPlane::admin_of("acme"),
        {{"tenantId", "acme"}, {"limits", {{"gpuMilli", 1}}}}
    );

    EXPECT_EQ(error.code(), ErrorCode::AccessDenied);
}

TEST_P(Quotas, TheWholeObjectIsPut) {
    set({{"gpuMilli", 8000}, {"reservations", 10}});

    const Json after = set({{"gpuMilli", 4000}, {"tunnels", nullptr}});

    EXPECT_EQ(after.at("limits"), (Json{{"gpuMilli", 4000}}));
    EXPECT_EQ(after.at("version"), 2);
    EXPECT_EQ(call("get", Json::object()).at("limits"), after.at("limits"));
    EXPECT_EQ(after.at("resources").at("reservations").at("limit"), nullptr);
}

TEST_P(Quotas, AChangeIsAnEventWithBeforeAndAfter) {
    const std::string id = project("vision");
    set({{"gpuMilli", 8000}}, {{"projectId", id}, {"gpuModel", "H100"}});
    set({{"gpuMilli", 4000}}, {{"projectId", id}, {"gpuModel", "H100"}});

    const auto event = plane.outbox().back();
    EXPECT_EQ(event.type, "quota.changed");
    EXPECT_EQ(event.tenant_id, "acme");
    EXPECT_EQ(event.subject, "quota/" + id);
    EXPECT_EQ(
        event.data,
        (Json{
            {"tenantId", "acme"},
            {"scope", "project"},
            {"projectId", id},
            {"gpuModel", "H100"},
            {"before", {{"gpuMilli", 8000}}},
            {"after", {{"gpuMilli", 4000}}}})
    );
    EXPECT_EQ(plane.audit().back().method, "quotas/set");
}

TEST_P(Quotas, RepeatingASetIsNoChange) {
    const Json first = set({{"gpuMilli", 8000}});
    plane.clock.advance(std::chrono::hours(1));

    const Json second = set({{"gpuMilli", 8000}, {"volumeMib", nullptr}});

    EXPECT_EQ(second.at("version"), 1);
    EXPECT_EQ(second.at("updatedAt"), first.at("updatedAt"));
    EXPECT_THAT(plane.outbox(), SizeIs(1));
}

TEST_P(Quotas, TakingAwayWhatWasNeverThereIsNoChange) {
    EXPECT_EQ(set(Json::object()).at("version"), 0);
    EXPECT_THAT(plane.outbox(), IsEmpty());
    EXPECT_THAT(call("list", Json::object()).at("items"), IsEmpty());
}

TEST_P(Quotas, LimitsHaveBounds) {
    EXPECT_EQ(set({{"gpuMilli", 0}, {"volumeMib", 1'000'000'000}}).at("version"), 1);
    for (const Json& bad : {Json(-1), Json(1'000'000'001), Json(1.5), Json("8")}) {
        const auto error = error_of("set", {{"limits", {{"gpuMilli", bad}}}});
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput) << bad;
        EXPECT_THAT(error.message(), HasSubstr("limits.gpuMilli: ")) << bad;
    }
    EXPECT_THAT(
        error_of("set", {{"limits", {{"gpus", 1}}}}).message(),
        HasSubstr("Unknown field limits.gpus")
    );
    EXPECT_THAT(error_of("set", Json::object()).message(), HasSubstr("Required"));
}

TEST_P(Quotas, AScopeIsNarrowedByAPoolOrAModelNotBoth) {
    const std::string id = pool("h100");
    EXPECT_EQ(set({{"gpuMilli", 1}}, {{"poolId", id}}).at("id"), "tenant:" + id);
    EXPECT_EQ(set({{"gpuMilli", 1}}, {{"gpuModel", "H100 SXM"}}).at("id"), "tenant:H100 SXM");

    EXPECT_EQ(
        error_of(
            "set", {{"poolId", id}, {"gpuModel", "H100"}, {"limits", Json::object()}}
        ).message(),
        "gpuModel: cannot be combined with poolId"
    );
    EXPECT_EQ(
        error_of("set", {{"gpuModel", "H100"}, {"limits", {{"volumeMib", 1}}}}).message(),
        "limits.volumeMib: cannot be limited for one gpuModel"
    );
}

TEST_P(Quotas, WhatAScopeNamesMustBeThere) {
    const std::string absent(26, '0');
    EXPECT_EQ(
        error_of("set", {{"projectId", "prj_" + absent}, {"limits", Json::object()}}).code(),
        ErrorCode::NotFound
    );
    EXPECT_EQ(
        error_of("set", {{"poolId", "pool_" + absent}, {"limits", Json::object()}}).code(),
        ErrorCode::NotFound
    );
    EXPECT_EQ(error_of("get", {{"poolId", "pool_" + absent}}).code(), ErrorCode::NotFound);
    const std::string id = project("vision");
    plane.call(
        "projects/archive", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"projectId", id}}
    );
    EXPECT_EQ(
        error_of("set", {{"projectId", id}, {"limits", {{"gpuMilli", 1}}}}).code(),
        ErrorCode::InvalidState
    );
}

TEST_P(Quotas, AnotherTenantsProjectIsNotFound) {
    const std::string id = project("vision");

    const ComputeError error = plane.error_of(
        "quotas/set",
        TestPlane::root(),
        {{"tenantId", "globex"}, {"projectId", id}, {"limits", Json::object()}}
    );

    EXPECT_EQ(error.code(), ErrorCode::NotFound);
}

TEST_P(Quotas, AVersionGuardsTheChange) {
    EXPECT_EQ(set({{"gpuMilli", 1}}, {{"version", 0}}).at("version"), 1);

    const ComputeError error = error_of("set", {{"version", 0}, {"limits", {{"gpuMilli", 2}}}});

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(*error.details(), (Json{{"reason", "version"}, {"version", 1}}));
    EXPECT_EQ(set({{"gpuMilli", 2}}, {{"version", 1}}).at("version"), 2);
}

TEST_P(Quotas, ListsTheTenantsOwnFirstAndInPages) {
    const std::string id = project("vision");
    set({{"gpuMilli", 1}}, {{"projectId", id}});
    set({{"gpuMilli", 2}}, {{"gpuModel", "H100"}});
    set({{"gpuMilli", 3}});

    const Json first = call("list", {{"limit", 2}});
    const Json second = call("list", {{"limit", 2}, {"cursor", first.at("nextCursor")}});

    ASSERT_THAT(first.at("items"), SizeIs(2));
    EXPECT_EQ(first.at("items")[0].at("id"), "tenant");
    EXPECT_EQ(first.at("items")[1].at("id"), "tenant:H100");
    ASSERT_THAT(second.at("items"), SizeIs(1));
    EXPECT_EQ(second.at("items")[0].at("id"), id);
    EXPECT_FALSE(second.contains("nextCursor"));
    EXPECT_THAT(call("list", {{"projectId", id}}).at("items"), SizeIs(1));
    EXPECT_THAT(call("list", {{"gpuModel", "A100"}}).at("items"), IsEmpty());
    EXPECT_EQ(error_of("list", {{"cursor", "bm8"}}).code(), ErrorCode::InvalidInput);
}

TEST_P(Quotas, GetShowsWhatIsInUseAndByHowMuchItIsOver) {
    insert({.gpus = 4, .starts_at = now, .ends_at = now + 2 * kHour});
    insert({.gpus = 3, .starts_at = now + kHour, .ends_at = now + 3 * kHour});
    insert({.gpus = 9, .starts_at = now, .ends_at = now + kHour, .state = ReservationState::Draft});
    set({{"gpuMilli", 5000}, {"reservations", 2}});

    const Json resources = call("get", Json::object()).at("resources");

    EXPECT_EQ(
        resources.at("gpuMilli"),
        (Json{{"limit", 5000}, {"used", 7000}, {"overBy", 2000}, {"peakAt", now + kHour}})
    );
    EXPECT_EQ(
        resources.at("gpuHoursCommitted"), (Json{{"limit", nullptr}, {"used", 14}, {"overBy", 0}})
    );
    EXPECT_EQ(resources.at("reservations"), (Json{{"limit", 2}, {"used", 2}, {"overBy", 0}}));
    EXPECT_EQ(resources.at("tunnels").at("used"), 0);
}

TEST_P(Quotas, WhatIsOverIsInUseNoMore) {
    insert(
        {.gpus = 4, .starts_at = now - 2 * kHour, .ends_at = now, .state = ReservationState::Ended}
    );

    const Json resources = call("get", Json::object()).at("resources");

    EXPECT_EQ(resources.at("gpuMilli").at("used"), 0);
    EXPECT_EQ(resources.at("gpuHoursCommitted").at("used"), 0);
    EXPECT_EQ(resources.at("reservations").at("used"), 0);
}

}  // namespace
}  // namespace compute::capacity
