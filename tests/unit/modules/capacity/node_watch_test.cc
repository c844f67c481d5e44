#include "modules/capacity/node_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/capacity/gpu_faults.h"

namespace compute::capacity {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = NodeStep::Kind;
using Heard = NodeWatch::Heard;
using Outcome = NodeWatch::Outcome;

const NodeId kId("node_1");
constexpr std::int64_t kWall = 1'790'000'000'000;

std::vector<agent_protocol::Gpu> gpus_named(const std::vector<std::string>& uuids) {
    std::vector<agent_protocol::Gpu> gpus;
    for (const std::string& uuid : uuids) {
        agent_protocol::Gpu gpu;
        gpu.uuid = uuid;
        gpu.index = static_cast<std::int64_t>(gpus.size());
        gpus.push_back(gpu);
    }
    return gpus;
}

class Watch : public ::testing::Test {
protected:
    NodeWatch watch;

    // A node with the GPUs a and b, heard at 0.
    void begin(std::int64_t epoch = 3) {
        WatchedNode node;
        node.tenant_id = TenantId("acme");
        node.id = kId;
        node.epoch = epoch;
        node.disconnected_after_ms = 20'000;
        node.lost_after_ms = 120'000;
        node.gpus = {{"a", false}, {"b", false}};
        node.present = {"a", "b"};
        node.inventory_hash = agent_protocol::inventory_hash(gpus_named({"a", "b"}));
        watch.watch(node, 0);
    }
    Heard beat(std::int64_t now, std::int64_t epoch = 3, std::int64_t skew = 0) {
        agent_protocol::Heartbeat heartbeat;
        heartbeat.epoch = epoch;
        heartbeat.wall_ms = kWall + now + skew;
        heartbeat.inventory_hash = hash_;
        heartbeat.gpus = std::exchange(gpus_, std::nullopt);
        return watch.hear(kId, heartbeat, now, kWall + now);
    }
    // What the next heartbeat tells.
    void show(const std::vector<std::string>& uuids) {
        gpus_ = gpus_named(uuids);
        hash_ = agent_protocol::inventory_hash(*gpus_);
    }
    // The only step that is due.
    NodeStep due(std::int64_t now) {
        const auto steps = watch.take_due(now);
        EXPECT_THAT(steps, SizeIs(1)) << "at " << now;
        return steps.empty() ? NodeStep{} : steps.front();
    }
    void take(std::int64_t now, Kind kind) {
        const NodeStep step = due(now);
        EXPECT_EQ(static_cast<int>(step.kind), static_cast<int>(kind)) << "at " << now;
        watch.settle(step, Outcome::Taken);
    }

private:
    std::string hash_ = agent_protocol::inventory_hash(gpus_named({"a", "b"}));
    std::optional<std::vector<agent_protocol::Gpu>> gpus_;
};

TEST_F(Watch, ANodeIsDisconnectedAfterItsTimeAndNotBefore) {
    begin();

    EXPECT_THAT(watch.take_due(19'999), IsEmpty());
    const NodeStep step = due(20'000);

    EXPECT_EQ(step.kind, Kind::Disconnect);
    EXPECT_EQ(step.silent_ms, 20'000);
    EXPECT_EQ(step.epoch, 3);
}

TEST_F(Watch, AHeartbeatStartsTheTimeAnew) {
    begin();
    EXPECT_EQ(beat(15'000), Heard::Ok);

    EXPECT_THAT(watch.take_due(34'999), IsEmpty());
    EXPECT_EQ(due(35'000).kind, Kind::Disconnect);
}

TEST_F(Watch, AStepComesOutOnceUntilItIsSettled) {
    begin();
    const NodeStep step = due(20'000);

    EXPECT_THAT(watch.take_due(21'000), IsEmpty());
    watch.settle(step, Outcome::Failed);
    EXPECT_EQ(due(22'000).kind, Kind::Disconnect);
}

TEST_F(Watch, ADisconnectedNodeIsLostAfterItsTimeAndNotBefore) {
    begin();
    take(20'000, Kind::Disconnect);

    EXPECT_THAT(watch.take_due(119'999), IsEmpty());
    const NodeStep step = due(120'000);

    EXPECT_EQ(step.kind, Kind::Lose);
    EXPECT_EQ(step.silent_ms, 120'000);
    watch.settle(step, Outcome::Taken);
    EXPECT_FALSE(watch.has(kId));
}

TEST_F(Watch, ANodeIsNeverLostBeforeItIsDisconnected) {
    begin();

    take(500'000, Kind::Disconnect);
    take(500'000, Kind::Lose);
}

TEST_F(Watch, ANodeThatIsHeardAgainIsReconnectedWithItsSilence) {
    begin();
    take(20'000, Kind::Disconnect);
    EXPECT_EQ(beat(90'000), Heard::Ok);
    EXPECT_EQ(beat(95'000), Heard::Ok);

    const NodeStep step = due(95'001);

    EXPECT_EQ(step.kind, Kind::Reconnect);
    EXPECT_EQ(step.silent_ms, 90'000);
    watch.settle(step, Outcome::Taken);
    EXPECT_THAT(watch.take_due(114'999), IsEmpty());
    EXPECT_EQ(due(115'000).kind, Kind::Disconnect);
}

TEST_F(Watch, AHeartbeatWhileANodeIsBeingLostIsNotHeard) {
    begin();
    take(20'000, Kind::Disconnect);
    const NodeStep step = due(120'000);

    EXPECT_EQ(beat(120'001), Heard::Unknown);

    watch.settle(step, Outcome::Failed);
    EXPECT_EQ(beat(120'002), Heard::Ok);
    EXPECT_EQ(due(120'003).kind, Kind::Reconnect);
}

TEST_F(Watch, AnOldEpochHasNoRight) {
    begin();

    EXPECT_EQ(beat(1000, 2), Heard::OldEpoch);
    EXPECT_EQ(watch.hear(kId, 2, {"a", "xid", 79}), Heard::OldEpoch);
    EXPECT_EQ(watch.hear(NodeId("node_2"), 3, {"a", "xid", 79}), Heard::Unknown);
    EXPECT_EQ(due(20'000).kind, Kind::Disconnect);
}

TEST_F(Watch, ANewEpochForgetsTheStepsOfTheOldOne) {
    begin();
    const NodeStep step = due(20'000);
    begin(4);

    watch.settle(step, Outcome::Taken);

    EXPECT_THAT(watch.take_due(19'999), IsEmpty());
    EXPECT_EQ(due(20'000).kind, Kind::Disconnect);
}

TEST_F(Watch, AGpuIsMissingWhenTwoInventoriesTenSecondsApartLackIt) {
    begin();
    show({"a"});
    beat(5000);
    beat(14'999);
    EXPECT_THAT(watch.take_due(14'999), IsEmpty());

    beat(15'000);
    const NodeStep step = due(15'000);

    EXPECT_EQ(step.kind, Kind::MissGpu);
    EXPECT_EQ(step.gpu, "b");
    watch.settle(step, Outcome::Taken);
    beat(20'000);
    EXPECT_THAT(watch.take_due(20'000), IsEmpty());  // once
}

TEST_F(Watch, AGpuThatIsBackInTimeWasNeverMissing) {
    begin();
    show({"a"});
    beat(5000);
    show({"a", "b"});
    beat(10'000);
    show({"a"});
    beat(15'000);
    beat(20'000);

    EXPECT_THAT(watch.take_due(20'000), IsEmpty());
}

TEST_F(Watch, AnInventoryThatIsNewMustBeGiven) {
    begin();
    show({"a"});
    agent_protocol::Heartbeat heartbeat;
    heartbeat.epoch = 3;
    heartbeat.inventory_hash = agent_protocol::inventory_hash(gpus_named({"a"}));

    EXPECT_EQ(watch.hear(kId, heartbeat, 1000, kWall), Heard::NoInventory);
}

TEST_F(Watch, AGpuThatFellOffTheBusIsMissingAtOnce) {
    begin();
    EXPECT_EQ(watch.hear(kId, 3, {"b", "fallen-off", std::nullopt}), Heard::Ok);
    EXPECT_EQ(due(1).kind, Kind::MissGpu);

    watch.hear(kId, 3, {"a", "xid", 79});
    const NodeStep step = due(2);
    EXPECT_EQ(step.kind, Kind::FailGpu);
    EXPECT_EQ(step.xid, 79);
}

TEST_F(Watch, AnEventAboutAnUnknownGpuChangesNothing) {
    begin();

    EXPECT_EQ(watch.hear(kId, 3, {"z", "xid", 79}), Heard::Ok);
    EXPECT_THAT(watch.take_due(1), IsEmpty());
}

TEST_F(Watch, AMissingGpuThatReturnsIsFound) {
    begin();
    show({"a"});
    beat(0);
    beat(10'000);
    take(10'000, Kind::MissGpu);
    show({"a", "b"});
    beat(15'000);

    take(15'000, Kind::FindGpu);

    EXPECT_THAT(watch.take_due(15'001), IsEmpty());
}

TEST_F(Watch, AClockThatIsOffIsNotedOnceAndAgainWhenItIsRight) {
    begin();
    beat(1000, 3, 2000);
    EXPECT_THAT(watch.take_due(1000), IsEmpty());  // 2 s are allowed
    beat(2000, 3, 2001);
    const NodeStep step = due(2000);
    EXPECT_EQ(step.kind, Kind::NoteSkew);
    EXPECT_EQ(step.skew_ms, 2001);
    watch.settle(step, Outcome::Taken);

    beat(3000, 3, 2500);
    EXPECT_THAT(watch.take_due(3000), IsEmpty());
    beat(4000, 3, -100);
    EXPECT_EQ(due(4000).skew_ms, 0);
}

TEST_F(Watch, OneNodesSilenceIsNotAnothers) {
    begin();
    WatchedNode other;
    other.id = NodeId("node_2");
    other.epoch = 1;
    other.disconnected_after_ms = 20'000;
    other.lost_after_ms = 60'000;
    watch.watch(other, 10'000);
    beat(19'000);

    EXPECT_EQ(due(30'000).node_id, NodeId("node_2"));
    EXPECT_EQ(watch.size(), 2U);
}

TEST(HeartbeatMs, StretchesAboveTheLimitOnly) {
    EXPECT_EQ(heartbeat_ms_for(0), 5000);
    EXPECT_EQ(heartbeat_ms_for(25'000), 5000);
    EXPECT_EQ(heartbeat_ms_for(25'001), 5001);
    EXPECT_EQ(heartbeat_ms_for(100'000), 20'000);
}

TEST(GpuFaults, FollowTheCatalog) {
    EXPECT_EQ(health_after_xid(79), "missing");
    for (const int xid : {46, 48, 64, 74, 95, 119}) {
        EXPECT_EQ(health_after_xid(xid), "failed") << xid;
    }
    for (const int xid : {63, 92, 94}) {
        EXPECT_EQ(health_after_xid(xid), "degraded") << xid;
    }
    for (const int xid : {13, 31, 43, 45}) {
        EXPECT_EQ(health_after_xid(xid), std::nullopt) << xid;
    }
    EXPECT_TRUE(is_worse_health("healthy", "degraded"));
    EXPECT_TRUE(is_worse_health("degraded", "failed"));
    EXPECT_TRUE(is_worse_health("failed", "missing"));
    EXPECT_FALSE(is_worse_health("failed", "degraded"));
    EXPECT_FALSE(is_worse_health("missing", "missing"));
}

}  // namespace
}  // namespace compute::capacity
