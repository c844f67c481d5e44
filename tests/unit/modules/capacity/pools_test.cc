#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/capacity.h"

#include "tests/support/test_plane.h"
#include "tests/unit/modules/capacity/joining.h"

namespace compute::capacity {
namespace {

using support::TestPlane;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Pools : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity_module()}};

    Json create(const std::string& name, Json more = Json::object()) {
        more["tenantId"] = "acme";
        more["name"] = name;
        return plane.call("pools/create", TestPlane::admin_of("acme"), more);
    }
    Json call(const std::string& method, Json input) {
        input["tenantId"] = "acme";
        return plane.call("pools/" + method, TestPlane::admin_of("acme"), input);
    }
    ComputeError error_of(const std::string& method, Json input) {
        input["tenantId"] = "acme";
        return plane.error_of("pools/" + method, TestPlane::admin_of("acme"), input);
    }
    void join(const Json& pool, const std::string& node) {
        (void)join_node(plane, pool, {.name = node});
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, Pools, support::both_engines(), support::engine_name);

const Json kGroup{
    {"names", "gpu-[00-03]"},
    {"gpuModel", "A100"},
    {"gpuCount", 8},
    {"cpuMilli", 96'000},
    {"memoryMib", 786'432},
    {"fabric", "rack-1"}};

TEST_P(Pools, CreateAnswersTheRowWithItsDefaults) {
    const Json pool = create("training");

    EXPECT_EQ(pool.at("name"), "training");
    EXPECT_EQ(pool.at("tenantId"), "acme");
    EXPECT_EQ(pool.at("packing"), "pack");
    EXPECT_EQ(pool.at("sharing"), "whole");
    EXPECT_EQ(pool.at("fractionStepMilli"), 100);
    EXPECT_EQ(pool.at("maxDurationSeconds"), 2'592'000);
    EXPECT_EQ(pool.at("cleanupSeconds"), 60);
    EXPECT_EQ(pool.at("disconnectedAfterSeconds"), 20);
    EXPECT_EQ(pool.at("lostAfterSeconds"), 120);
    EXPECT_EQ(pool.at("queue"), "fill");
    EXPECT_EQ(pool.at("version"), 1);
    EXPECT_EQ(pool.at("shared"), false);
    EXPECT_EQ(call("get", {{"poolId", pool.at("id")}}), pool);
}

TEST_P(Pools, CreateLeavesRowProjectionAuditRowAndEvent) {
    const Json pool = create("training", {{"labels", {{"team", "ml"}}}});

    const auto attributes = plane.attributes_of("pool", pool.at("id"));
    EXPECT_EQ(attributes.at("name"), "training");
    EXPECT_EQ(attributes.at("labels"), Json::array({"team=ml"}));
    ASSERT_THAT(plane.audit(), SizeIs(1));
    EXPECT_EQ(plane.audit()[0].action, "compute:pools:create");
    ASSERT_THAT(plane.outbox(), SizeIs(1));
    EXPECT_EQ(plane.outbox()[0].type, "pool.created");
    EXPECT_EQ(plane.outbox()[0].subject, "pool/" + pool.at("id").get<std::string>());
    EXPECT_EQ(
        plane.outbox()[0].data,
        (Json{{"tenantId", "acme"}, {"name", "training"}, {"state", "active"}})
    );
}

TEST_P(Pools, ATakenNameIsAConflictThatNamesThePool) {
    const Json pool = create("training");

    const auto error = error_of("create", {{"name", "training"}});

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(*error.details(), (Json{{"reason", "name-taken"}, {"poolId", pool.at("id")}}));
    EXPECT_THAT(plane.outbox(), SizeIs(1));
}

TEST_P(Pools, ANameIsFreeAgainAfterDeletionAndInAnotherTenant) {
    const Json pool = create("training");
    call("delete", {{"poolId", pool.at("id")}});

    EXPECT_NE(create("training").at("id"), pool.at("id"));
    EXPECT_NO_THROW(plane.call(
        "pools/create", TestPlane::admin_of("other"), {{"tenantId", "other"}, {"name", "training"}}
    ));
}

TEST_P(Pools, M101_AKeyReplaysWithoutADecisionOrAnAuditRow) {
    const Json first = create("training", {{"idempotencyKey", "k-1"}});
    plane.clear();

    const Json again = create("training", {{"idempotencyKey", "k-1"}});

    EXPECT_EQ(again, first);
    EXPECT_EQ(plane.iam.decisions(), 0);
    EXPECT_THAT(plane.audit(), SizeIs(1));
    EXPECT_THAT(plane.outbox(), SizeIs(1));
}

TEST_P(Pools, M101_WithoutAKeyTheSecondCallIsDecided) {
    create("training");
    plane.clear();

    EXPECT_EQ(error_of("create", {{"name", "training"}}).code(), ErrorCode::Conflict);

    EXPECT_EQ(plane.count("require"), 1);
}

TEST_P(Pools, AReplayAnswersTheStateOfToday) {
    const Json pool = create("training", {{"idempotencyKey", "k-1"}});
    call("update", {{"poolId", pool.at("id")}, {"packing", "spread"}});
    EXPECT_EQ(create("training", {{"idempotencyKey", "k-1"}}).at("packing"), "spread");

    call("delete", {{"poolId", pool.at("id")}});
    EXPECT_EQ(create("training", {{"idempotencyKey", "k-1"}}).at("state"), "deleted");
}

TEST_P(Pools, AKeyUsedForAnotherRequestIsAConflict) {
    create("training", {{"idempotencyKey", "k-1"}});

    const auto error = error_of("create", {{"name", "serving"}, {"idempotencyKey", "k-1"}});

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(error.details()->at("reason"), "idempotency-key-reused");
}

TEST_P(Pools, AnotherIdentityHasKeysOfItsOwn) {
    create("training", {{"idempotencyKey", "k-1"}});

    const Json other = plane.call(
        "pools/create",
        "admin:acme#bob",
        {{"tenantId", "acme"}, {"name", "serving"}, {"idempotencyKey", "k-1"}}
    );

    EXPECT_EQ(other.at("name"), "serving");
}

TEST_P(Pools, AnotherTenantsPoolIsAsIfItWereNotThere) {
    const Json pool = create("training");
    const std::string absent = "pool_0123456789abcdefghjkmnpqrs";

    for (const std::string method : {"get", "capacity", "update", "delete"}) {
        const auto theirs = plane.error_of(
            "pools/" + method,
            TestPlane::admin_of("other"),
            {{"tenantId", "other"}, {"poolId", pool.at("id")}}
        );
        const auto nothing = plane.error_of(
            "pools/" + method,
            TestPlane::admin_of("other"),
            {{"tenantId", "other"}, {"poolId", absent}}
        );
        EXPECT_EQ(theirs.code(), ErrorCode::NotFound) << method;
        EXPECT_EQ(theirs.message(), nothing.message()) << method;
        EXPECT_EQ(theirs.details(), nothing.details()) << method;
    }
}

TEST_P(Pools, UpdateChangesWhatIsGivenAndTellsWhat) {
    const Json pool = create("training", {{"description", "old"}});

    const Json after = call(
        "update",
        {{"poolId", pool.at("id")}, {"version", 1}, {"description", nullptr}, {"queue", "strict"}}
    );

    EXPECT_FALSE(after.contains("description"));
    EXPECT_EQ(after.at("queue"), "strict");
    EXPECT_EQ(after.at("version"), 2);
    EXPECT_EQ(after, call("get", {{"poolId", pool.at("id")}}));
    EXPECT_EQ(plane.outbox().back().type, "pool.updated");
    EXPECT_EQ(plane.outbox().back().data.at("changed"), (Json{"description", "queue"}));
}

TEST_P(Pools, UpdateOfAnotherVersionIsAConflict) {
    const Json pool = create("training");
    call("update", {{"poolId", pool.at("id")}, {"queue", "strict"}});

    const auto error =
        error_of("update", {{"poolId", pool.at("id")}, {"version", 1}, {"packing", "spread"}});

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(error.details()->at("reason"), "version");
}

TEST_P(Pools, AnUpdateThatChangesNothingIsNoChange) {
    const Json pool = create("training");

    EXPECT_EQ(call("update", {{"poolId", pool.at("id")}, {"packing", "pack"}}), pool);

    EXPECT_THAT(plane.outbox(), SizeIs(1));
}

TEST_P(Pools, LostMustComeFortySecondsAfterDisconnected) {
    EXPECT_EQ(
        error_of(
            "create", {{"name", "a"}, {"disconnectedAfterSeconds", 100}, {"lostAfterSeconds", 139}}
        ).code(),
        ErrorCode::InvalidInput
    );
    const Json pool = create("a", {{"disconnectedAfterSeconds", 100}, {"lostAfterSeconds", 140}});
    EXPECT_EQ(
        error_of("update", {{"poolId", pool.at("id")}, {"disconnectedAfterSeconds", 101}}).code(),
        ErrorCode::InvalidInput
    );
}

TEST_P(Pools, NodeGroupsAreStoredInOneSpellingAndMustBeDisjoint) {
    Json group = kGroup;
    group["names"] = "gpu-[03,00,01-02]";
    EXPECT_EQ(create("a", {{"nodeGroups", {group}}}).at("nodeGroups"), Json::array({kGroup}));

    group["names"] = "gpu-[02-05]";
    const auto error = error_of("create", {{"name", "b"}, {"nodeGroups", {kGroup, group}}});
    EXPECT_EQ(error.message(), "nodeGroups[1].names: node gpu-02 is already in nodeGroups[0]");
}

TEST_P(Pools, CapacityCountsExpectedAndJoinedNodesPerModelAndFabric) {
    Json other = kGroup;
    other["names"] = "t4-[0-1]";
    other["gpuModel"] = "T4";
    other["gpuCount"] = 2;
    other.erase("fabric");
    const Json pool = create("a", {{"nodeGroups", {kGroup, other}}});
    join(pool, "gpu-01");

    const Json capacity = call("capacity", {{"poolId", pool.at("id")}});

    EXPECT_EQ(
        capacity.at("gpus"),
        (Json{{"nodes", 6}, {"expectedNodes", 5}, {"total", 36}, {"expected", 28}, {"joined", 8}})
    );
    EXPECT_EQ(
        capacity.at("models")[1],
        (Json{
            {"gpuModel", "T4"},
            {"nodes", 2},
            {"expectedNodes", 2},
            {"total", 4},
            {"expected", 4},
            {"joined", 0},
            {"healthy", 0},
            {"booked", 0},
            {"bookedMilli", 0},
            {"free", 0},
            {"freeMilli", 0},
            {"largestHole", 0},
            {"stranded", 0},
            {"wholeNodesFree", Json::array()}})
    );
    EXPECT_EQ(
        capacity.at("fabrics"),
        Json::array({Json{
            {"fabric", "rack-1"},
            {"nodes", 4},
            {"expectedNodes", 3},
            {"total", 32},
            {"expected", 24},
            {"joined", 8}}})
    );
    EXPECT_EQ(capacity.at("to").get<EpochMs>() - capacity.at("from").get<EpochMs>(), 3'600'000);
}

TEST_P(Pools, ChangingGroupsReplacesWhatIsExpectedButNeverANodeThatJoined) {
    const Json pool = create("a", {{"nodeGroups", {kGroup}}});
    join(pool, "gpu-01");
    Json group = kGroup;
    group["names"] = "gpu-[01-02]";

    call("update", {{"poolId", pool.at("id")}, {"nodeGroups", {group}}});
    EXPECT_EQ(call("capacity", {{"poolId", pool.at("id")}}).at("gpus").at("expectedNodes"), 1);

    group["names"] = "gpu-02";
    const auto error = error_of("update", {{"poolId", pool.at("id")}, {"nodeGroups", {group}}});
    EXPECT_EQ(error.code(), ErrorCode::InvalidState);
    EXPECT_EQ(*error.details(), (Json{{"count", 1}, {"nodes", {"gpu-01"}}}));
    EXPECT_EQ(call("get", {{"poolId", pool.at("id")}}).at("version"), 2);
}

TEST_P(Pools, APoolWithNodesCannotBeDeleted) {
    const Json pool = create("a", {{"nodeGroups", {kGroup}}});
    join(pool, "gpu-00");

    const auto error = error_of("delete", {{"poolId", pool.at("id")}});

    EXPECT_EQ(error.code(), ErrorCode::InvalidState);
    EXPECT_EQ(*error.details(), (Json{{"nodes", 1}}));
}

TEST_P(Pools, APoolOfNodesThatNeverJoinedCanBeDeletedAndDeletingAgainIsTheSame) {
    const Json pool = create("a", {{"nodeGroups", {kGroup}}, {"sharedWith", {"other"}}});

    EXPECT_EQ(call("delete", {{"poolId", pool.at("id")}}), (Json{{"deleted", true}}));
    EXPECT_EQ(call("delete", {{"poolId", pool.at("id")}}), (Json{{"deleted", true}}));

    EXPECT_EQ(error_of("get", {{"poolId", pool.at("id")}}).code(), ErrorCode::NotFound);
    EXPECT_EQ(plane.attributes_of("pool", pool.at("id")), Json());
    EXPECT_THAT(plane.outbox(), SizeIs(2));
    EXPECT_EQ(plane.outbox().back().type, "pool.deleted");
    EXPECT_EQ(plane.database().query("select count(*) from expected_nodes")[0].get_int(0), 0);
}

TEST_P(Pools, ASharedPoolIsSeenByOthersWithoutItsOwnersLists) {
    const Json pool = create("a", {{"sharedWith", {"other"}}, {"nodeGroups", {kGroup}}});

    const Json seen = plane.call(
        "pools/get",
        TestPlane::admin_of("other"),
        {{"tenantId", "other"}, {"poolId", pool.at("id")}}
    );

    EXPECT_EQ(seen.at("shared"), true);
    EXPECT_EQ(seen.at("tenantId"), "acme");
    EXPECT_FALSE(seen.contains("sharedWith"));
    EXPECT_FALSE(seen.contains("nodeGroups"));
    const auto error = plane.error_of(
        "pools/update",
        TestPlane::admin_of("other"),
        {{"tenantId", "other"}, {"poolId", pool.at("id")}, {"queue", "strict"}}
    );
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
}

TEST_P(Pools, ListShowsOwnAndSharedPoolsPageByPage) {
    create("b");
    create("a");
    plane.call(
        "pools/create",
        TestPlane::admin_of("other"),
        {{"tenantId", "other"}, {"name", "c"}, {"sharedWith", {"*"}}}
    );
    plane.call(
        "pools/create", TestPlane::admin_of("other"), {{"tenantId", "other"}, {"name", "hidden"}}
    );

    const Json first = call("list", {{"limit", 2}});
    const Json second = call("list", {{"limit", 2}, {"cursor", first.at("nextCursor")}});

    ASSERT_THAT(first.at("items"), SizeIs(2));
    EXPECT_EQ(first.at("items")[0].at("name"), "a");
    EXPECT_EQ(first.at("items")[1].at("name"), "b");
    ASSERT_THAT(second.at("items"), SizeIs(1));
    EXPECT_EQ(second.at("items")[0].at("name"), "c");
    EXPECT_EQ(second.at("items")[0].at("shared"), true);
    EXPECT_FALSE(second.contains("nextCursor"));
    EXPECT_THAT(call("list", {{"shared", false}}).at("items"), SizeIs(2));
    EXPECT_THAT(call("list", {{"name", "b"}}).at("items"), SizeIs(1));
    EXPECT_THAT(call("list", {{"packing", "spread"}}).at("items"), IsEmpty());
}

TEST_P(Pools, BadInputIsRefusedByName) {
    EXPECT_EQ(error_of("create", {{"name", "a"}, {"x", 1}}).message(), "Unknown field x");
    EXPECT_THAT(
        error_of("list", {{"cursor", "bm9wZQ"}}).message(), ::testing::StartsWith("cursor: ")
    );
    EXPECT_THAT(error_of("list", {{"limit", 201}}).message(), ::testing::StartsWith("limit: "));
    EXPECT_THAT(
        error_of("create", {{"name", "a"}, {"sharedWith", {"*", "b"}}}).message(),
        ::testing::StartsWith("sharedWith: ")
    );
    EXPECT_THAT(
        error_of("create", {{"name", "a"}, {"sharedWith", {"acme"}}}).message(),
        ::testing::StartsWith("sharedWith: ")
    );
    EXPECT_THAT(
        error_of("create", {{"name", "a"}, {"fractionStepMilli", 60}}).message(),
        ::testing::StartsWith("fractionStepMilli: ")
    );
    EXPECT_THAT(error_of("create", {{"name", "A"}}).message(), ::testing::StartsWith("name: "));
    EXPECT_THAT(
        error_of(
            "capacity", {{"poolId", "pool_0123456789abcdefghjkmnpqrs"}, {"from", 5}, {"to", 5}}
        ).message(),
        ::testing::StartsWith("to: ")
    );
}

}  // namespace
}  // namespace compute::capacity
