// The methods of nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/bookings.h"
#include "modules/capacity/capacity.h"
#include "modules/capacity/node_states.h"

#include "tests/support/test_plane.h"
#include "tests/unit/modules/capacity/joining.h"

namespace compute::capacity {
namespace {

using support::TestPlane;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Nodes : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity_module()}};
    Json pool = plane.call(
        "pools/create", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"name", "a"}}
    );

    Json call(const std::string& method, Json input, const std::string& tenant = "acme") {
        input["tenantId"] = tenant;
        return plane.call("nodes/" + method, TestPlane::admin_of(tenant), input);
    }
    ComputeError error_of(
        const std::string& method, Json input, const std::string& tenant = "acme"
    ) {
        input["tenantId"] = tenant;
        return plane.error_of("nodes/" + method, TestPlane::admin_of(tenant), input);
    }
    std::string join(const std::string& name, std::int64_t gpus = 2) {
        return join_node(plane, pool, {.name = name, .gpus = gpus}).node.id.str();
    }
    // A booking of `tenant` for the next hour.
    void book(const std::string& node, const std::string& gpu, const std::string& tenant = "acme") {
        const EpochMs now = plane.clock.now_ms();
        plane.database().write([&](store::Transaction& tx) {
            insert_bookings(
                tx,
                {{.id = "bkg_" + gpu,
                  .tenant_id = TenantId(tenant),
                  .pool_id = PoolId(pool.at("id").get<std::string>()),
                  .node_id = NodeId(node),
                  .gpu_uuid = gpu,
                  .milli = 1000,
                  .cpu_milli = 1000,
                  .memory_mib = 1000,
                  .starts_at = now,
                  .ends_at = now + 3'600'000,
                  .holder_type = "reservation",
                  .holder_id = "rsv_of_" + tenant,
                  .parent_id = std::nullopt}}
            );
        });
    }
    std::vector<std::string> events(const std::string& tenant = "acme") {
        std::vector<std::string> types;
        for (const auto& row : plane.outbox()) {
            if (row.tenant_id == tenant && row.type.starts_with("node.")) {
                types.push_back(row.type);
            }
        }
        return types;
    }
    StepResult step(
        NodeStep::Kind kind,
        const std::string& node,
        const std::string& gpu = "",
        std::int64_t xid = 0
    ) {
        NodeStep one;
        one.kind = kind;
        one.tenant_id = TenantId("acme");
        one.node_id = NodeId(node);
        one.epoch = call("get", {{"nodeId", node}}).at("epoch").get<std::int64_t>();
        one.gpu = gpu;
        one.xid = xid;
        return take_step(plane.runtime(), "p1", one);
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, Nodes, support::both_engines(), support::engine_name);

TEST_P(Nodes, ATokenIsShownOnceAndStoredHashed) {
    const Json token =
        call("createToken", {{"poolId", pool.at("id")}, {"maxUses", 3}, {"names", "n-[1-3]"}});

    const std::string text = token.at("token").get<std::string>();
    EXPECT_TRUE(text.starts_with("bct_enroll_"));
    EXPECT_EQ(token.at("maxUses"), 3);
    EXPECT_EQ(token.at("names"), "n-[1-3]");
    EXPECT_EQ(token.at("expiresAt"), plane.clock.now_ms() + 3'600'000);
    const auto rows = plane.database().query("select token_hash from node_tokens");
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].get_text(0).find(text), std::string::npos);
    EXPECT_EQ(plane.audit().back().action, "compute:nodes:enroll");
    EXPECT_FALSE(plane.messages.mentions(text));
}

TEST_P(Nodes, TheBoundsOfATokenAreKept) {
    const Json id = pool.at("id");
    EXPECT_NO_THROW(call("createToken", {{"poolId", id}, {"ttlSeconds", 60}, {"maxUses", 10'000}}));
    EXPECT_NO_THROW(call("createToken", {{"poolId", id}, {"ttlSeconds", 604'800}}));
    for (const Json& bad :
         {Json{{"ttlSeconds", 59}},
          Json{{"ttlSeconds", 604'801}},
          Json{{"maxUses", 0}},
          Json{{"maxUses", 10'001}},
          Json{{"names", "n-[3-1]"}},
          Json{{"names", ""}},
          Json{{"other", 1}}}) {
        Json input = bad;
        input["poolId"] = id;
        EXPECT_EQ(error_of("createToken", input).code(), ErrorCode::InvalidInput) << bad;
    }
}

TEST_P(Nodes, ATokenIsForAPoolOfOnesOwn) {
    const Json shared = plane.call(
        "pools/create",
        TestPlane::admin_of("acme"),
        {{"tenantId", "acme"}, {"name", "b"}, {"sharedWith", {"other"}}}
    );

    EXPECT_EQ(
        error_of("createToken", {{"poolId", shared.at("id")}}, "other").code(), ErrorCode::NotFound
    );
}

TEST_P(Nodes, GetShowsTheNodeItsGpusAndItsHolders) {
    const std::string id = join("gpu-01");
    book(id, "GPU-m-gpu-01-0");

    const Json node = call("get", {{"nodeId", id}});

    EXPECT_EQ(node.at("name"), "gpu-01");
    EXPECT_EQ(node.at("poolId"), pool.at("id"));
    EXPECT_EQ(node.at("connection"), "ready");
    EXPECT_EQ(node.at("admin"), "enabled");
    EXPECT_EQ(node.at("expectedGpus"), 2);
    EXPECT_EQ(node.at("degraded"), false);
    EXPECT_EQ(node.at("holders"), (Json{"rsv_of_acme"}));
    EXPECT_EQ(node.at("gpus")[0].at("holders"), (Json{"rsv_of_acme"}));
    EXPECT_EQ(node.at("gpus")[1].at("holders"), Json::array());
    EXPECT_EQ(node.at("gpus")[1].at("health"), "healthy");
    EXPECT_FALSE(node.contains("credentialHash"));
}

TEST_P(Nodes, AnotherTenantsNodeIsNotFound) {
    const std::string id = join("gpu-01");

    EXPECT_EQ(
        error_of("get", {{"nodeId", id}}, "other").message(),
        error_of("get", {{"nodeId", "node_00000000000000000000000000"}}, "other").message()
    );
    EXPECT_EQ(call("list", Json::object(), "other").at("items"), Json::array());
}

TEST_P(Nodes, ListFiltersAndPages) {
    for (const char* name : {"gpu-01", "gpu-02", "gpu-03"}) {
        join(name);
    }
    const auto names = [&](Json input) {
        std::vector<std::string> out;
        const Json answer = call("list", std::move(input));
        for (const Json& node : answer.at("items")) {
            out.push_back(node.at("name"));
        }
        return out;
    };
    const std::string second = call("list", Json::object()).at("items")[1].at("id");
    step(NodeStep::Kind::MissGpu, second, "GPU-m-gpu-02-1");
    call("setSchedulable", {{"nodeId", second}, {"mode", "cordoned"}, {"reason", "fan"}});

    EXPECT_THAT(names({{"degraded", true}}), ElementsAre("gpu-02"));
    EXPECT_THAT(names({{"degraded", false}}), ElementsAre("gpu-01", "gpu-03"));
    EXPECT_THAT(names({{"admin", "cordoned"}}), ElementsAre("gpu-02"));
    EXPECT_THAT(names({{"connection", "lost"}}), IsEmpty());
    EXPECT_THAT(names({{"gpuModel", "A100"}}), SizeIs(3));
    EXPECT_THAT(names({{"gpuModel", "T4"}}), IsEmpty());
    EXPECT_THAT(names({{"poolId", pool.at("id")}}), SizeIs(3));
    const Json page = call("list", {{"limit", 2}});
    EXPECT_THAT(page.at("items"), SizeIs(2));
    EXPECT_THAT(page.at("items")[0].at("gpus"), SizeIs(2));
    EXPECT_THAT(names({{"cursor", page.at("nextCursor")}}), ElementsAre("gpu-03"));
}

TEST_P(Nodes, UpdateChangesWhatItNamesAndSaysSo) {
    const std::string id = join("gpu-01");

    const Json node = call(
        "update",
        {{"nodeId", id},
         {"version", 1},
         {"labels", {{"rack", "7"}}},
         {"fabric", "r7"},
         {"expectedGpus", 4}}
    );

    EXPECT_EQ(node.at("version"), 2);
    EXPECT_EQ(node.at("labels"), (Json{{"rack", "7"}}));
    EXPECT_EQ(node.at("fabric"), "r7");
    EXPECT_EQ(node.at("degraded"), true);  // two of four
    EXPECT_EQ(plane.attributes_of("node", id).at("labels"), (Json{"rack=7"}));
    EXPECT_EQ(call("update", {{"nodeId", id}, {"fabric", nullptr}}).contains("fabric"), false);
    EXPECT_EQ(call("update", {{"nodeId", id}, {"labels", {{"rack", "7"}}}}).at("version"), 3);
    EXPECT_THAT(
        events(), ElementsAre("node.registered", "node.ready", "node.updated", "node.updated")
    );
    EXPECT_EQ(
        *error_of("update", {{"nodeId", id}, {"version", 1}, {"fabric", "x"}}).details(),
        (Json{{"reason", "version"}, {"version", 3}})
    );
    EXPECT_EQ(
        error_of("update", {{"nodeId", id}, {"expectedGpus", 1}}).code(), ErrorCode::InvalidState
    );
    EXPECT_EQ(
        error_of("update", {{"nodeId", id}, {"expectedGpus", 17}}).code(), ErrorCode::InvalidInput
    );
}

TEST_P(Nodes, ANodeMovesToAnotherPoolUnlessItIsBooked) {
    const std::string id = join("gpu-01");
    const Json other = plane.call(
        "pools/create", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"name", "b"}}
    );
    book(id, "GPU-m-gpu-01-0");
    const auto error = error_of("update", {{"nodeId", id}, {"poolId", other.at("id")}});
    EXPECT_EQ(error.code(), ErrorCode::InvalidState);
    EXPECT_EQ(*error.details(), (Json{{"bookings", 1}}));

    plane.clock.advance(std::chrono::hours(2));

    EXPECT_EQ(
        call("update", {{"nodeId", id}, {"poolId", other.at("id")}}).at("poolId"), other.at("id")
    );
}

TEST_P(Nodes, CordonAndEnableChangeTheFieldAndSayWhy) {
    const std::string id = join("gpu-01");

    const Json cordoned =
        call("setSchedulable", {{"nodeId", id}, {"mode", "cordoned"}, {"reason", "fan"}});
    call("setSchedulable", {{"nodeId", id}, {"mode", "cordoned"}, {"reason", "fan"}});
    const Json enabled = call("setSchedulable", {{"nodeId", id}, {"mode", "enabled"}});

    EXPECT_EQ(cordoned.at("admin"), "cordoned");
    EXPECT_EQ(cordoned.at("adminReason"), "fan");
    EXPECT_EQ(enabled.at("admin"), "enabled");
    EXPECT_FALSE(enabled.contains("adminReason"));
    EXPECT_THAT(
        events(), ElementsAre("node.registered", "node.ready", "node.cordoned", "node.enabled")
    );
    EXPECT_EQ(
        error_of("setSchedulable", {{"nodeId", id}, {"mode", "cordoned"}}).message(),
        "reason: Required unless mode is enabled"
    );
    EXPECT_EQ(
        error_of(
            "setSchedulable",
            {{"nodeId", id}, {"mode", "cordoned"}, {"reason", "x"}, {"deadlineSeconds", 1}}
        ).message(),
        "deadlineSeconds: belongs to mode draining"
    );
    EXPECT_EQ(
        error_of(
            "setSchedulable",
            {{"nodeId", id}, {"mode", "draining"}, {"reason", "x"}, {"deadlineSeconds", 604'801}}
        ).code(),
        ErrorCode::InvalidInput
    );
}

TEST_P(Nodes, AnEmptyNodeIsDrainedAtOnceAndOnlyEnabledLeadsBack) {
    const std::string id = join("gpu-01");

    const Json node =
        call("setSchedulable", {{"nodeId", id}, {"mode", "draining"}, {"reason", "fan"}});

    EXPECT_EQ(node.at("admin"), "drained");
    EXPECT_THAT(
        events(), ElementsAre("node.registered", "node.ready", "node.draining", "node.drained")
    );
    EXPECT_EQ(
        error_of("setSchedulable", {{"nodeId", id}, {"mode", "cordoned"}, {"reason", "x"}}).code(),
        ErrorCode::InvalidState
    );
    EXPECT_EQ(call("setSchedulable", {{"nodeId", id}, {"mode", "enabled"}}).at("admin"), "enabled");
}

TEST_P(Nodes, ABookedNodeDrainsUntilItsDeadline) {
    const std::string id = join("gpu-01");
    book(id, "GPU-m-gpu-01-0");
    call(
        "setSchedulable",
        {{"nodeId", id}, {"mode", "draining"}, {"reason", "fan"}, {"deadlineSeconds", 600}}
    );

    plane.clock.advance(std::chrono::seconds(599));
    plane.run_reconciler("capacity.nodes");
    EXPECT_EQ(call("get", {{"nodeId", id}}).at("admin"), "draining");
    plane.clock.advance(std::chrono::seconds(1));
    plane.run_reconciler("capacity.nodes");

    const Json node = call("get", {{"nodeId", id}});
    EXPECT_EQ(node.at("admin"), "drained");
    EXPECT_EQ(node.at("holders"), Json::array());
    const auto rows = plane.outbox();
    const auto drained = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
        return row.type == "node.drained";
    });
    ASSERT_NE(drained, rows.end());
    EXPECT_EQ(drained->data.at("affected").at("reservations"), 1);
}

TEST_P(Nodes, AMissingGpuIsToldOnceToTheOwnerAndToWhoeverHoldsIt) {
    const std::string id = join("gpu-01");
    book(id, "GPU-m-gpu-01-1", "other");

    step(NodeStep::Kind::MissGpu, id, "GPU-m-gpu-01-1");
    step(NodeStep::Kind::MissGpu, id, "GPU-m-gpu-01-1");

    EXPECT_THAT(events(), ElementsAre("node.registered", "node.ready", "node.gpu.missing"));
    EXPECT_THAT(events("other"), ElementsAre("node.gpu.missing"));
    const auto row = plane.outbox().back();
    EXPECT_EQ(row.subject, "node/" + id);
    EXPECT_EQ(row.data.at("gpu"), "GPU-m-gpu-01-1");
    EXPECT_EQ(row.data.at("expected"), 2);
    EXPECT_EQ(row.data.at("present"), 1);
    EXPECT_EQ(row.data.at("index"), 1);
    EXPECT_EQ(row.data.at("holders"), (Json{"rsv_of_other"}));
    EXPECT_EQ(call("get", {{"nodeId", id}}).at("degraded"), true);
}

TEST_P(Nodes, AnXidFailsOrDegradesAndAWarningHidesNoFailure) {
    const std::string id = join("gpu-01");
    const std::string gpu = "GPU-m-gpu-01-0";
    const auto health = [&] { return call("get", {{"nodeId", id}}).at("gpus")[0].at("health"); };

    step(NodeStep::Kind::FailGpu, id, gpu, 43);
    EXPECT_EQ(health(), "healthy");
    step(NodeStep::Kind::FailGpu, id, gpu, 94);
    EXPECT_EQ(health(), "degraded");
    step(NodeStep::Kind::FailGpu, id, gpu, 48);
    step(NodeStep::Kind::FailGpu, id, gpu, 94);
    EXPECT_EQ(health(), "failed");
    EXPECT_EQ(call("get", {{"nodeId", id}}).at("gpus")[0].at("xid"), 48);

    const Json node = call("resetGpu", {{"nodeId", id}, {"gpu", gpu}, {"action", "clear-health"}});
    EXPECT_EQ(node.at("gpus")[0].at("health"), "healthy");
    EXPECT_THAT(
        events(),
        ElementsAre(
            "node.registered",
            "node.ready",
            "node.gpu.degraded",
            "node.gpu.failed",
            "node.gpu.recovered"
        )
    );
}

TEST_P(Nodes, AMissingGpuIsGivenUpByHandAndOnlyWhenNobodyHoldsIt) {
    const std::string id = join("gpu-01");
    const std::string gpu = "GPU-m-gpu-01-1";
    const Json give_up{{"nodeId", id}, {"gpu", gpu}, {"action", "accept-missing"}};
    EXPECT_EQ(error_of("resetGpu", give_up).code(), ErrorCode::InvalidState);
    step(NodeStep::Kind::MissGpu, id, gpu);
    EXPECT_EQ(
        error_of("resetGpu", {{"nodeId", id}, {"gpu", gpu}, {"action", "clear-health"}}).hint(),
        "put it back, or use accept-missing"
    );
    book(id, gpu);
    EXPECT_EQ(*error_of("resetGpu", give_up).details(), (Json{{"holders", 1}}));
    plane.clock.advance(std::chrono::hours(2));

    const Json node = call("resetGpu", give_up);

    EXPECT_EQ(node.at("expectedGpus"), 1);
    EXPECT_THAT(node.at("gpus"), SizeIs(1));
    EXPECT_EQ(node.at("degraded"), false);
    EXPECT_EQ(error_of("resetGpu", give_up).code(), ErrorCode::NotFound);
}

TEST_P(Nodes, AnEmptyNodeIsRemovedAndItsNameIsFree) {
    const std::string id = join("gpu-01");

    EXPECT_EQ(call("remove", {{"nodeId", id}}).at("connection"), "removed");

    EXPECT_EQ(error_of("get", {{"nodeId", id}}).code(), ErrorCode::NotFound);
    EXPECT_EQ(error_of("remove", {{"nodeId", id}}).code(), ErrorCode::NotFound);
    EXPECT_EQ(plane.attributes_of("node", id), Json());
    EXPECT_NE(join("gpu-01"), id);
    EXPECT_THAT(events(), Contains("node.removed"));
}

TEST_P(Nodes, ABookedNodeIsRemovedByForceWhenItsAgentHasFencedItself) {
    const std::string id = join("gpu-01");
    book(id, "GPU-m-gpu-01-0", "other");
    const auto error = error_of("remove", {{"nodeId", id}});
    EXPECT_EQ(error.code(), ErrorCode::InvalidState);
    EXPECT_EQ(*error.details(), (Json{{"bookings", 1}, {"holders", 1}}));

    const Json node = call("remove", {{"nodeId", id}, {"force", true}});
    call("remove", {{"nodeId", id}, {"force", true}});

    EXPECT_EQ(node.at("connection"), "disconnected");
    EXPECT_EQ(node.at("removingAt"), plane.clock.now_ms() + 120'000);
    EXPECT_THAT(call("get", {{"nodeId", id}}).at("holders"), SizeIs(1));
    EXPECT_THAT(events("other"), ElementsAre("node.disconnected"));
    step(NodeStep::Kind::Lose, id);
    EXPECT_EQ(error_of("get", {{"nodeId", id}}).code(), ErrorCode::NotFound);
    EXPECT_THAT(
        events(),
        ElementsAre(
            "node.registered", "node.ready", "node.disconnected", "node.lost", "node.removed"
        )
    );
    EXPECT_THAT(events("other"), ElementsAre("node.disconnected", "node.lost"));
}

TEST_P(Nodes, RefusalsChangeNothing) {
    const std::string id = join("gpu-01");
    plane.clear();

    for (const char* method : {"update", "remove", "resetGpu", "setSchedulable"}) {
        Json input{{"tenantId", "acme"}, {"nodeId", id}};
        if (std::string_view(method) == "resetGpu") {
            input.update({{"gpu", "GPU-m-gpu-01-0"}, {"action", "clear-health"}});
        } else if (std::string_view(method) == "setSchedulable") {
            input["mode"] = "enabled";
        }
        EXPECT_EQ(
            plane.error_of(std::string("nodes/") + method, TestPlane::viewer_of("acme"), input)
                .code(),
            ErrorCode::AccessDenied
        ) << method;
    }
    EXPECT_EQ(plane.count("begin"), 0);
}

}  // namespace
}  // namespace compute::capacity
