// Prune: an apply takes away only what an apply made.
#include "tests/unit/modules/fleet/fleet_rig.h"

namespace compute::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FleetPrune : public Fleet {
protected:
    const Json nothing = document_with(Json::object());
};

INSTANTIATE_TEST_SUITE_P(Engines, FleetPrune, support::both_engines(), support::engine_name);

TEST_P(FleetPrune, WithoutItNothingIsTakenAway) {
    (void)apply(small_document());

    EXPECT_THAT(plan(nothing).at("calls"), IsEmpty());
    EXPECT_EQ(apply(nothing).at("applied"), 0);
}

TEST_P(FleetPrune, TakesAwayInTheOrderOpposite) {
    (void)apply(small_document());

    const Json planned = plan(nothing, true);
    EXPECT_EQ(apply(nothing, true).at("applied"), 4);

    EXPECT_THAT(
        paths(planned), ElementsAre("quotas/set", "quotas/set", "pools/delete", "projects/archive")
    );
    EXPECT_EQ(
        planned.at("calls")[3].at("changes"),
        Json::array(
            {{{"field", "name"}, {"before", "vision"}, {"after", nullptr}},
             {{"field", "labels.tier"}, {"before", "gold"}, {"after", nullptr}}}
        )
    );
    const Json left = export_document();
    EXPECT_THAT(left.at("pools"), IsEmpty());
    EXPECT_THAT(left.at("projects"), IsEmpty());
    EXPECT_THAT(left.at("quotas"), IsEmpty());
    EXPECT_EQ(plane.outbox().back().data.at("counts").at("deleted"), 4);
    EXPECT_THAT(plan(nothing, true).at("calls"), IsEmpty());
}

TEST_P(FleetPrune, WhatPeopleMadeStays) {
    call("pools/create", {{"name", "by-hand"}});
    call("projects/create", {{"name", "by-hand"}, {"idempotencyKey", "k"}});
    call("quotas/set", {{"gpuModel", "H100"}, {"limits", {{"gpuMilli", 1}}}});
    (void)apply(document_with({{"pools", {{{"name", "by-hand"}, {"queue", "strict"}}}}}));

    const Json planned = plan(nothing, true);

    EXPECT_THAT(planned.at("calls"), IsEmpty());
    EXPECT_THAT(planned.at("blocked"), IsEmpty());
}

TEST_P(FleetPrune, WhatAnotherTenantsApplyMadeStays) {
    (void)apply(small_document());
    Json other = nothing;
    other["tenantId"] = "globex";

    EXPECT_THAT(plan(other, true).at("calls"), IsEmpty());
}

TEST_P(FleetPrune, APoolWithNodesIsBlocked) {
    (void)apply(document_with({{"pools", {{{"name", "h100"}}}}}));
    const std::string id = pool_named("h100").at("id").get<std::string>();
    sql("insert into nodes (id, tenant_id, pool_id, name, labels, connection, connection_since, "
        "admin, "
        "cpu_milli, memory_mib, expected_gpus, machine_id, boot_id, credential_hash, epoch, "
        "connected_to, clock_skew_ms, inventory_hash, abilities, version, changed_in, created_at, "
        "updated_at, fence_ms) values ('node_1', 'acme', $1, 'n-1', '{}', 'ready', 0, 'enabled', 1, 1, 0, "
        "'m', "
        "'b', 'c', 1, '', 0, '', '{}', 1, 0, 0, 0, 100000)",
        {id});

    EXPECT_EQ(
        plan(nothing, true).at("blocked"),
        Json::array(
            {{{"path", "pools/delete"}, {"name", "h100"}, {"reason", "it still has 1 node"}}}
        )
    );
}

TEST_P(FleetPrune, AQuotaSetByHandAfterItWasPrunedIsNotOurs) {
    const Json document = document_with({{"quotas", {{{"limits", {{"gpuMilli", 1}}}}}}});
    (void)apply(document);
    (void)apply(nothing, true);

    call("quotas/set", {{"limits", {{"gpuMilli", 2}}}});

    EXPECT_THAT(plan(nothing, true).at("calls"), IsEmpty());
    EXPECT_THAT(call("quotas/list", Json::object()).at("items"), SizeIs(1));
}

}  // namespace
}  // namespace compute::fleet
