// What becomes of a hello, and of the steps that follow.
#include "modules/capacity/node_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/bookings.h"
#include "modules/capacity/capacity.h"
#include "modules/capacity/node_holders.h"
#include "modules/capacity/node_states.h"

#include "tests/support/test_plane.h"
#include "tests/unit/modules/capacity/joining.h"

namespace compute::capacity {
namespace {

using support::TestPlane;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Admission : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity_module()}};
    Json pool = make_pool("a", Json::object());

    Json make_pool(const std::string& name, Json more) {
        more.update({{"tenantId", "acme"}, {"name", name}});
        return plane.call("pools/create", TestPlane::admin_of("acme"), more);
    }
    Json declared_pool() {
        return make_pool(
            "declared",
            {{"nodeGroups",
              {{{"names", "gpu-[01-02]"},
                {"gpuModel", "A100"},
                {"gpuCount", 8},
                {"cpuMilli", 96'000},
                {"memoryMib", 786'432},
                {"fabric", "r1"},
                {"labels", {{"rack", "1"}}}}}}}
        );
    }
    Admitted admit(const agent_protocol::Hello& hello, const std::string& process = "p1") {
        return admit_agent(plane.runtime(), hello, process);
    }
    ComputeError refusal_of(const agent_protocol::Hello& hello) {
        try {
            (void)admit(hello);
        } catch (const ComputeError& error) {
            return error;
        }
        return internal_error("was admitted");
    }
    Json get(const Admitted& admitted) {
        return plane.call(
            "nodes/get",
            TestPlane::admin_of("acme"),
            {{"tenantId", "acme"}, {"nodeId", admitted.node.id.str()}}
        );
    }
    std::vector<std::string> events() {
        std::vector<std::string> types;
        for (const auto& row : plane.outbox()) {
            if (row.type.starts_with("node.")) {
                types.push_back(row.type);
            }
        }
        return types;
    }
    StepResult step(
        const Admitted& admitted, NodeStep::Kind kind, const std::string& process = "p1"
    ) {
        NodeStep one;
        one.kind = kind;
        one.tenant_id = TenantId("acme");
        one.node_id = admitted.node.id;
        one.epoch = admitted.node.epoch;
        one.silent_ms = 20'000;
        return take_step(plane.runtime(), process, one);
    }
    std::int64_t uses() {
        return plane.database().query("select cast(coalesce(sum(uses), 0) as bigint) from node_tokens").front().get_int(0);
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, Admission, support::both_engines(), support::engine_name);

TEST_P(Admission, AMachineWithATokenJoins) {
    const Admitted admitted = admit(with_token({.name = "gpu-01"}, token_of(plane, pool)));

    EXPECT_TRUE(admitted.credential);
    EXPECT_EQ(admitted.node.epoch, 1);
    EXPECT_EQ(admitted.disconnected_after_ms, 20'000);
    EXPECT_EQ(admitted.lost_after_ms, 120'000);
    EXPECT_EQ(admitted.node.fence_ms, 100'000);
    EXPECT_THAT(get(admitted).at("gpus"), SizeIs(8));
    EXPECT_THAT(events(), ElementsAre("node.registered", "node.ready"));
    const auto row = plane.outbox().back();
    EXPECT_EQ(row.data.at("poolId"), pool.at("id"));
    EXPECT_EQ(row.data.at("name"), "gpu-01");
    EXPECT_EQ(row.data.at("epoch"), 1);
    EXPECT_EQ(row.data.at("sinceMs"), 0);
    EXPECT_EQ(
        row.data.at("affected"), (Json{{"reservations", 0}, {"instances", 0}, {"sandboxes", 0}})
    );
}

TEST_P(Admission, ATokenIsUsedAsOftenAsItSaysAndUntilItEnds) {
    const std::string token = token_of(plane, pool, {{"maxUses", 2}, {"ttlSeconds", 60}});
    (void)admit(with_token({.name = "gpu-01"}, token));
    (void)admit(with_token({.name = "gpu-02"}, token));

    EXPECT_EQ(
        refusal_of(with_token({.name = "gpu-03"}, token)).message(), "token: has been used up"
    );
    plane.clock.advance(std::chrono::seconds(60));
    const auto late = refusal_of(with_token({.name = "gpu-03"}, token));
    EXPECT_EQ(late.message(), "token: has expired");
    EXPECT_EQ(late.code(), ErrorCode::Unauthenticated);
}

TEST_P(Admission, TokensThatAreNoneAreRefusedInTheSameWords) {
    const std::string token = token_of(plane, pool);
    std::string other = token;
    other.back() = other.back() == 'a' ? 'b' : 'a';

    for (const std::string& bad : {other, std::string("bct_enroll_x"), std::string(40, 'x')}) {
        const auto error = refusal_of(with_token({.name = "gpu-01"}, bad));
        EXPECT_EQ(error.code(), ErrorCode::Unauthenticated);
        EXPECT_EQ(error.message(), "token: is not valid");
    }
}

TEST_P(Admission, ATokenCoversTheNamesItLists) {
    const std::string token = token_of(plane, pool, {{"names", "gpu-[01-02]"}, {"maxUses", 9}});

    EXPECT_NO_THROW((void)admit(with_token({.name = "gpu-02"}, token)));
    EXPECT_EQ(refusal_of(with_token({.name = "gpu-03"}, token)).code(), ErrorCode::InvalidInput);
}

TEST_P(Admission, ADeclaredNodeTakesFabricAndLabelsOfItsGroup) {
    const Json declared = declared_pool();

    const Json node = get(join_node(plane, declared, {.name = "gpu-01"}));

    EXPECT_EQ(node.at("fabric"), "r1");
    EXPECT_EQ(node.at("labels"), (Json{{"rack", "1"}}));
    const Json capacity = plane.call(
        "pools/capacity",
        TestPlane::admin_of("acme"),
        {{"tenantId", "acme"}, {"poolId", declared.at("id")}}
    );
    EXPECT_EQ(capacity.at("gpus").at("expectedNodes"), 1);
}

TEST_P(Admission, AnUndeclaredNameIsRefused) {
    const std::string token = token_of(plane, declared_pool());

    const auto error = refusal_of(with_token({.name = "gpu-03"}, token));

    EXPECT_EQ(error.code(), ErrorCode::InvalidState);
    EXPECT_EQ(error.message(), "name: gpu-03 is not declared in the node groups of the pool");
    EXPECT_EQ(uses(), 0);
}

TEST_P(Admission, AMachineThatIsNotTheDeclaredOneIsRefusedWithTheDifference) {
    const std::string token = token_of(plane, declared_pool());
    const auto text = [&](const Machine& machine) {
        return refusal_of(with_token(machine, token)).message();
    };

    EXPECT_THAT(
        text({.name = "gpu-01", .gpus = 7, .model = "T4"}),
        HasSubstr("gpuCount: declared 8, found 7; gpuModel: declared A100, found T4")
    );
    EXPECT_THAT(
        text({.name = "gpu-01", .cpu_milli = 64'000}),
        HasSubstr("cpuMilli: declared 96000, found 64000")
    );
    EXPECT_THAT(
        text({.name = "gpu-01", .memory_mib = 700'000}),
        HasSubstr("memoryMib: declared 786432, found 700000")
    );
    // What the kernel keeps of the memory, and the driver's full name, are no difference.
    EXPECT_NO_THROW((void)admit(with_token(
        {.name = "gpu-01", .memory_mib = 770'000, .model = "NVIDIA A100-SXM4-80GB"}, token
    )));
}

TEST_P(Admission, ATakenNameIsAnotherMachines) {
    (void)join_node(plane, pool, {.name = "gpu-01"});

    const auto error =
        refusal_of(with_token({.name = "gpu-01", .id = "m-x"}, token_of(plane, pool)));

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(error.details()->at("reason"), "name-taken");
}

TEST_P(Admission, AGpuIsInOneNode) {
    (void)join_node(plane, pool, {.name = "gpu-01"});

    const auto error =
        refusal_of(with_token({.name = "gpu-02", .id = "m-gpu-01"}, token_of(plane, pool)));

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(error.details()->at("reason"), "gpu-taken");
    EXPECT_THAT(plane.database().query("select id from nodes"), SizeIs(1));
}

TEST_P(Admission, TheSameHelloAgainIsAnsweredAgainUntilTheCredentialIsUsed) {
    const Machine machine{.name = "gpu-01"};
    const auto hello = with_token(machine, token_of(plane, pool));
    const Admitted lost = admit(hello);  // the welcome got lost

    const Admitted again = admit(hello);

    EXPECT_EQ(again.node.id, lost.node.id);
    EXPECT_EQ(again.node.epoch, 2);
    EXPECT_EQ(uses(), 1);
    EXPECT_EQ(refusal_of(with_credential(machine, lost)).code(), ErrorCode::Unauthenticated);
    (void)admit(with_credential(machine, again));
    EXPECT_EQ(refusal_of(hello).message(), "token: has been used up");
}

TEST_P(Admission, ACredentialIsGoodForItsNodeAndItsMachine) {
    const Machine machine{.name = "gpu-01"};
    const Admitted first = join_node(plane, pool, machine);
    const Admitted second = join_node(plane, pool, {.name = "gpu-02"});

    const Admitted back = admit(with_credential(machine, first), "p2");
    EXPECT_EQ(back.node.epoch, 2);
    EXPECT_EQ(back.held_by, "p1");
    EXPECT_FALSE(back.credential);

    auto wrong = with_credential(machine, second);
    wrong.node_id = first.node.id.str();
    EXPECT_EQ(refusal_of(wrong).message(), "credential: is not valid for this node");
    wrong = with_credential(machine, first);
    wrong.node_id = "node_00000000000000000000000000";
    EXPECT_EQ(refusal_of(wrong).message(), "credential: is not valid for this node");
    wrong = with_credential({.name = "gpu-01", .id = "m-x"}, first);
    EXPECT_EQ(refusal_of(wrong).message(), "machineId: the credential belongs to another machine");
}

TEST_P(Admission, ANodeThatComesBackDisconnectedOrLostSaysSo) {
    const Machine machine{.name = "gpu-01"};
    const Admitted first = join_node(plane, pool, machine);
    step(first, NodeStep::Kind::Disconnect);
    plane.clock.advance(std::chrono::seconds(40));
    Admitted back = admit(with_credential(machine, first));
    EXPECT_EQ(plane.outbox().back().type, "node.reconnected");
    EXPECT_EQ(plane.outbox().back().data.at("sinceMs"), 40'000);
    step(back, NodeStep::Kind::Disconnect);
    step(back, NodeStep::Kind::Lose);

    back = admit(with_credential(machine, first));

    EXPECT_EQ(back.node.epoch, 3);
    EXPECT_EQ(get(back).at("connection"), "ready");
    EXPECT_THAT(
        events(),
        ElementsAre(
            "node.registered",
            "node.ready",
            "node.disconnected",
            "node.reconnected",
            "node.disconnected",
            "node.lost",
            "node.ready"
        )
    );
}

TEST_P(Admission, AStepIsTakenOnlyByTheHolderFromTheEpochItKnows) {
    const Machine machine{.name = "gpu-01"};
    const Admitted first = join_node(plane, pool, machine);
    EXPECT_EQ(step(first, NodeStep::Kind::Disconnect, "p2"), StepResult::NotOurs);
    const Admitted back = admit(with_credential(machine, first));
    EXPECT_EQ(step(first, NodeStep::Kind::Disconnect), StepResult::NotOurs);
    EXPECT_EQ(get(back).at("connection"), "ready");

    EXPECT_EQ(step(back, NodeStep::Kind::Disconnect), StepResult::Taken);
    EXPECT_EQ(get(back).at("connection"), "disconnected");
    EXPECT_EQ(step(back, NodeStep::Kind::Reconnect), StepResult::Taken);
    EXPECT_EQ(get(back).at("connection"), "ready");
    EXPECT_EQ(step(back, NodeStep::Kind::Disconnect), StepResult::Taken);
    EXPECT_EQ(step(back, NodeStep::Kind::Lose), StepResult::Taken);
    EXPECT_EQ(step(back, NodeStep::Kind::Reconnect), StepResult::NotOurs);
}

TEST_P(Admission, ALostNodeHoldsNothingAnyMore) {
    const Admitted node = join_node(plane, pool, {.name = "gpu-01"});
    const EpochMs now = plane.clock.now_ms();
    plane.database().write([&](store::Transaction& tx) {
        insert_bookings(
            tx,
            {{.id = "bkg_1",
              .tenant_id = TenantId("other"),
              .pool_id = node.node.pool_id,
              .node_id = node.node.id,
              .gpu_uuid = "GPU-m-gpu-01-0",
              .milli = 1000,
              .cpu_milli = 1,
              .memory_mib = 1,
              .starts_at = now,
              .ends_at = now + 3'600'000,
              .holder_type = "reservation",
              .holder_id = "rsv_1",
              .parent_id = std::nullopt}}
        );
    });
    plane.clock.advance(std::chrono::seconds(120));

    step(node, NodeStep::Kind::Lose);

    EXPECT_THAT(get(node).at("holders"), IsEmpty());
    const auto rows = plane.outbox();
    const auto lost = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
        return row.type == "node.lost" && row.tenant_id == "other";
    });
    ASSERT_NE(lost, rows.end());
    EXPECT_EQ(lost->data.at("affected").at("reservations"), 1);
}

TEST_P(Admission, FewerGpusNeverShrinkANodeAndNewOnesAreTakenIn) {
    const Machine machine{.name = "gpu-01", .gpus = 4};
    const Admitted first = join_node(plane, pool, machine);

    Admitted back = admit(with_credential({.name = "gpu-01", .gpus = 3}, first));
    EXPECT_THAT(back.gpus, SizeIs(4));
    EXPECT_EQ(back.node.expected_gpus, 4);
    back = admit(with_credential({.name = "gpu-01", .gpus = 6}, first));
    EXPECT_THAT(back.gpus, SizeIs(6));
    EXPECT_EQ(get(back).at("expectedGpus"), 6);
}

TEST_P(Admission, APoolThatGetsGroupsKnowsTheNodesThatJoinedBefore) {
    const Admitted node = join_node(plane, pool, {.name = "gpu-01"});
    const auto groups = [](const char* names) {
        return Json{
            {{"names", names},
             {"gpuModel", "A100"},
             {"gpuCount", 8},
             {"cpuMilli", 96'000},
             {"memoryMib", 786'432}}};
    };
    Json input{{"tenantId", "acme"}, {"poolId", pool.at("id")}, {"nodeGroups", groups("gpu-02")}};
    EXPECT_EQ(
        plane.error_of("pools/update", TestPlane::admin_of("acme"), input).code(),
        ErrorCode::InvalidState
    );
    input["nodeGroups"] = groups("gpu-[01-02]");
    plane.call("pools/update", TestPlane::admin_of("acme"), input);

    const Json capacity = plane.call(
        "pools/capacity",
        TestPlane::admin_of("acme"),
        {{"tenantId", "acme"}, {"poolId", pool.at("id")}}
    );
    EXPECT_EQ(capacity.at("gpus").at("expectedNodes"), 1);
}

TEST_P(Admission, ARestartTakesOverTheNodesAndLosesNone) {
    const Admitted node = join_node(plane, pool, {.name = "gpu-01"});  // held by p1, which is gone
    NodeHolder holder(plane.runtime(), "p2");

    const auto round = holder.run();

    ASSERT_THAT(round.adopted, SizeIs(1));
    EXPECT_EQ(round.adopted[0].id, node.node.id);
    EXPECT_EQ(round.adopted[0].epoch, 1);
    EXPECT_EQ(round.adopted[0].lost_after_ms, 120'000);
    EXPECT_EQ(get(node).at("connection"), "ready");
    EXPECT_EQ(step(node, NodeStep::Kind::Disconnect, "p1"), StepResult::NotOurs);
    EXPECT_EQ(step(node, NodeStep::Kind::Disconnect, "p2"), StepResult::Taken);
    EXPECT_THAT(holder.run().adopted, IsEmpty());
}

TEST_P(Admission, APoolThatWasShortenedDoesNotShortenTheFenceThatWasTold) {
    const Admitted node = join_node(plane, pool, {.name = "gpu-01"});
    plane.call(
        "pools/update",
        TestPlane::admin_of("acme"),
        {{"tenantId", "acme"}, {"poolId", pool.at("id")}, {"lostAfterSeconds", 60}}
    );

    NodeHolder holder(plane.runtime(), "p2");

    EXPECT_EQ(holder.run().adopted.at(0).lost_after_ms, 120'000);
    EXPECT_EQ(node.lost_after_ms, 120'000);
}

TEST_P(Admission, WhatAProcessHoldsIsJudgedByEpochAndHolder) {
    const Machine machine{.name = "gpu-01"};
    NodeHolder holder(plane.runtime(), "p1");
    (void)holder.run();
    const Admitted first = join_node(plane, pool, machine);
    EXPECT_THAT(holder.look_at({{first.node.id, 1}}).gone, IsEmpty());

    (void)admit(with_credential(machine, first), "p2");

    EXPECT_THAT(holder.look_at({{first.node.id, 1}}).gone, ElementsAre(first.node.id));
}

class Holders : public ::testing::Test {
protected:
    TestPlane one{store::Engine::Postgres, {capacity_module()}};
    TestPlane two{one, {capacity_module()}};
};

TEST_F(Holders, AProcessIsTakenForDeadOnlyWhenItsBeatStandsStillForTheWholeTime) {
    const Json pool = one.call(
        "pools/create", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"name", "a"}}
    );
    NodeHolder first(one.runtime(), "p1");
    NodeHolder second(two.runtime(), "p2");
    (void)first.run();
    (void)join_node(one, pool, {.name = "gpu-01"});
    (void)second.run();

    for (int i = 0; i < 10; ++i) {  // a living one keeps its nodes
        two.clock.advance(std::chrono::seconds(5));
        (void)first.run();
        EXPECT_THAT(second.run().adopted, IsEmpty());
    }
    two.clock.advance(std::chrono::milliseconds(19'999));
    EXPECT_THAT(second.run().adopted, IsEmpty());
    two.clock.advance(std::chrono::milliseconds(1));
    EXPECT_THAT(second.run().adopted, SizeIs(1));

    const auto round = first.run();  // it only slept
    EXPECT_TRUE(round.was_replaced);
    EXPECT_EQ(first.process(), "p1:1");
    EXPECT_THAT(round.adopted, IsEmpty());
}

TEST_F(Holders, ALeaseEndsBeforeAnybodyElseMayCount) {
    NodeHolder holder(one.runtime(), "p1");
    const std::int64_t asked = one.clock.steady_ms();

    (void)holder.run();

    EXPECT_EQ(holder.lease_until_ms(), asked + 15'000);
    EXPECT_LT(kLeaseMs, kDeadAfterMs);
}

TEST_F(Holders, AProcessThatEndsLeavesItsNodesAtOnce) {
    const Json pool = one.call(
        "pools/create", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"name", "a"}}
    );
    NodeHolder first(one.runtime(), "p1");
    NodeHolder second(two.runtime(), "p2");
    (void)first.run();
    (void)join_node(one, pool, {.name = "gpu-01"});

    first.end();

    EXPECT_THAT(second.run().adopted, SizeIs(1));
}

}  // namespace
}  // namespace compute::capacity
