// fleet.plan: what differs and in which order it is changed.
#include "tests/unit/modules/fleet/fleet_rig.h"

namespace compute::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FleetPlan : public Fleet {};
INSTANTIATE_TEST_SUITE_P(Engines, FleetPlan, support::both_engines(), support::engine_name);

TEST_P(FleetPlan, CallsComeInTheOrderOfWhatTheyNeed) {
    const Json planned = plan(small_document());

    EXPECT_THAT(
        paths(planned), ElementsAre("projects/create", "pools/create", "quotas/set", "quotas/set")
    );
    EXPECT_THAT(planned.at("blocked"), IsEmpty());
    EXPECT_EQ(planned.at("planHash").get<std::string>().size(), 64U);
}

TEST_P(FleetPlan, ChangesNothing) {
    (void)plan(small_document());

    EXPECT_THAT(export_document().at("pools"), IsEmpty());
    EXPECT_THAT(plane.outbox(), IsEmpty());
    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(FleetPlan, ShowsBeforeAndAfterOfEachField) {
    call(
        "pools/create",
        {{"name", "h100"}, {"packing", "spread"}, {"labels", {{"a", "1"}, {"b", "2"}}}}
    );

    const Json planned = plan(document_with(
        {{"pools",
          {{{"name", "h100"},
            {"description", "eight each"},
            {"labels", {{"b", "3"}, {"c", "4"}}},
            {"nodeGroups", {group("n-[01,02]")}}}}}}
    ));

    ASSERT_THAT(paths(planned), ElementsAre("pools/update"));
    EXPECT_EQ(
        planned.at("calls")[0].at("changes"),
        Json::array(
            {{{"field", "description"}, {"before", nullptr}, {"after", "eight each"}},
             {{"field", "labels.a"}, {"before", "1"}, {"after", nullptr}},
             {{"field", "labels.b"}, {"before", "2"}, {"after", "3"}},
             {{"field", "labels.c"}, {"before", nullptr}, {"after", "4"}},
             {{"field", "nodeGroups"},
              {"before", Json::array()},
              {"after", Json::array({group("n-[01-02]")})}},
             {{"field", "packing"}, {"before", "spread"}, {"after", "pack"}}}
        )
    );
    const Json& input = planned.at("calls")[0].at("input");
    EXPECT_EQ(input.at("version"), 1);
    EXPECT_EQ(input.at("packing"), "pack");
    EXPECT_FALSE(input.contains("queue"));
}

TEST_P(FleetPlan, AnotherSpellingOfTheSameIsNoChange) {
    call(
        "pools/create",
        {{"name", "h100"}, {"nodeGroups", {group("n-[1-3]")}}, {"sharedWith", {"b", "c"}}}
    );

    const Json planned = plan(document_with(
        {{"pools",
          {{{"name", "h100"},
            {"queue", "fill"},
            {"labels", Json::object()},
            {"sharedWith", {"c", "b"}},
            {"nodeGroups", {group("n-[3,1,2]")}}}}}}
    ));

    EXPECT_THAT(planned.at("calls"), IsEmpty());
}

TEST_P(FleetPlan, AQuotaNamesTheIdsThatTheCreatesWillGive) {
    const Json planned = plan(small_document());
    (void)apply(small_document());

    const Json& input = planned.at("calls")[2].at("input");
    EXPECT_EQ(input.at("projectId"), project_named("vision").at("id"));
    EXPECT_EQ(input.at("poolId"), pool_named("h100").at("id"));
}

TEST_P(FleetPlan, TheHashDoesNotDependOnWhoPlans) {
    const Json mine = plan(small_document());
    const Json yours =
        plane.call("fleet/plan", "admin:root#deputy", input_of(small_document(), false));

    EXPECT_EQ(mine.at("planHash"), yours.at("planHash"));
    EXPECT_NE(mine.at("calls")[2].at("input"), yours.at("calls")[2].at("input"));
}

TEST_P(FleetPlan, TheHashFollowsEverythingThatWasLookedAt) {
    Json document = small_document();
    (void)apply(document);
    document["quotas"][0]["limits"]["gpuMilli"] = 1;
    const auto hash = [&] { return plan(document).at("planHash").get<std::string>(); };
    const std::string first = hash();
    EXPECT_EQ(hash(), first);

    call("pools/create", {{"name", "unrelated"}});
    EXPECT_EQ(hash(), first) << "a pool that nobody asked about";

    call("pools/update", {{"poolId", pool_named("h100").at("id")}, {"queue", "strict"}});
    const std::string second = hash();
    EXPECT_NE(second, first);

    call("pools/update", {{"poolId", pool_named("h100").at("id")}, {"queue", "fill"}});
    EXPECT_NE(hash(), first) << "the same fields in another version";
}

TEST_P(FleetPlan, TheHashFollowsPrune) {
    EXPECT_NE(plan(small_document()).at("planHash"), plan(small_document(), true).at("planHash"));
}

TEST_P(FleetPlan, AQuotaOnWhatIsNotThereIsBlocked) {
    const Json planned = plan(document_with(
        {{"quotas",
          {{{"project", "nobody"}, {"limits", {{"gpuMilli", 1}}}},
           {{"pool", "globex/h100"}, {"limits", {{"gpuMilli", 1}}}}}}}
    ));

    EXPECT_EQ(
        planned.at("blocked"),
        Json::array(
            {{{"path", "quotas/set"},
              {"name", "project nobody"},
              {"reason", "there is no project nobody"}},
             {{"path", "quotas/set"},
              {"name", "tenant in pool globex/h100"},
              {"reason", "there is no pool globex/h100"}}}
        )
    );
}

TEST_P(FleetPlan, ASharedPoolIsNamedWithItsOwner) {
    const Json pool = plane.call(
        "pools/create",
        TestPlane::admin_of("globex"),
        {{"tenantId", "globex"}, {"name", "h100"}, {"sharedWith", {"acme"}}}
    );

    const Json planned =
        plan(document_with({{"quotas", {{{"pool", "globex/h100"}, {"limits", {{"gpuMilli", 1}}}}}}})
        );

    EXPECT_EQ(planned.at("calls").at(0).at("input").at("poolId"), pool.at("id"));
}

TEST_P(FleetPlan, NodesThatJoinedMayNotLoseTheirPlace) {
    call("pools/create", {{"name", "h100"}, {"nodeGroups", {group("n-[1-4]")}}});
    sql("update expected_nodes set node_id = 'node_x' where name in ('n-3', 'n-4')");
    const Json document =
        document_with({{"pools", {{{"name", "h100"}, {"nodeGroups", {group("n-[1-2]")}}}}}});

    const Json planned = plan(document);

    EXPECT_THAT(planned.at("calls"), IsEmpty());
    EXPECT_THAT(
        planned.at("blocked").at(0).at("reason").get<std::string>(), HasSubstr("n-[3-4] (2 in all)")
    );
    EXPECT_EQ(plan(document_with({{"pools", {{{"name", "h100"}}}}})).at("calls").size(), 1U);
}

TEST_P(FleetPlan, ExpectedNodesStandBesideTheExport) {
    call("pools/create", {{"name", "h100"}, {"nodeGroups", {group("n-[1-4]")}}});
    sql("update expected_nodes set node_id = 'node_x' where name = 'n-2'");

    EXPECT_EQ(
        call("fleet/export", Json::object()).at("expected"),
        Json::array({{{"pool", "h100"}, {"nodes", 3}, {"names", {"n-[1,3-4]"}}}})
    );
}

}  // namespace
}  // namespace compute::fleet
