#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/placement/placement_index.h"

namespace compute::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kPool = "pool_1";

NodeState node(const std::string& id, int gpus = 8, const std::string& model = "H100") {
    NodeState state;
    state.id = id;
    state.pool_id = kPool;
    state.cpu_milli = 8'000;
    state.memory_mib = 80'001;
    state.version = 1;
    for (int i = 0; i < gpus; ++i) {
        state.gpus.push_back({.uuid = id + "/" + std::to_string(i), .model = model});
    }
    return state;
}

PlacementRequest asks(std::int64_t gpus, EpochMs from = 100, EpochMs to = 200) {
    PlacementRequest request;
    request.gpu_count = gpus;
    request.starts_at = from;
    request.ends_at = to;
    return request;
}

std::vector<std::string> gpus_of(const PlaceResult& result) {
    std::vector<std::string> gpus;
    for (const PlannedBooking& booking : result.placement.value().bookings) {
        gpus.push_back(booking.gpu_uuid);
    }
    return gpus;
}

TEST(Placement, TheLowerIdWinsAmongEqualNodes) {
    PlacementIndex index;
    index.put_node(node("node_b"));
    index.put_node(node("node_a"));

    EXPECT_THAT(gpus_of(index.place(kPool, asks(2), 0)), ElementsAre("node_a/0", "node_a/1"));
}

TEST(Placement, AmongEqualNodesOneOnWhichNothingIsBeingBookedWins) {
    PlacementIndex index;
    index.put_node(node("node_a"));
    index.put_node(node("node_b"));
    // In windows of their own the nodes stay equal.
    const HoldResult first = index.hold(kPool, asks(1, 100, 200), 0);
    EXPECT_THAT(gpus_of(first.result), ElementsAre("node_a/0"));

    const HoldResult second = index.hold(kPool, asks(1, 300, 400), 0);
    EXPECT_THAT(gpus_of(second.result), ElementsAre("node_b/0"));
    // Both are being booked on.
    EXPECT_THAT(gpus_of(index.place(kPool, asks(1, 500, 600), 0)), ElementsAre("node_a/0"));

    index.drop_hold(second.hold);
    EXPECT_THAT(gpus_of(index.place(kPool, asks(1, 500, 600), 0)), ElementsAre("node_b/0"));
    index.commit_hold(first.hold, {{.node_id = "node_a", .version = 2}});
    EXPECT_THAT(gpus_of(index.place(kPool, asks(1, 500, 600), 0)), ElementsAre("node_a/0"));
}

TEST(Placement, ClaimsOfOneWindowArePackedThoughTheyAreStillBeingBooked) {
    for (const CostRule rule : {CostRule::ThreeTerms, CostRule::FirstFit}) {
        PlacementIndex index;
        index.compare_by(rule);
        index.put_node(node("node_a"));
        index.put_node(node("node_b"));
        for (int i = 0; i < 8; ++i) {
            const HoldResult held = index.hold(kPool, asks(1), 0);
            EXPECT_THAT(gpus_of(held.result), ElementsAre("node_a/" + std::to_string(i)));
        }
        EXPECT_THAT(gpus_of(index.place(kPool, asks(1), 0)), ElementsAre("node_b/0"));
    }
}

TEST(Placement, ABookingMayBeginWhereAnotherEnds) {
    PlacementIndex index;
    index.put_node(node("node_a", 1));
    EXPECT_NE(index.hold(kPool, asks(1, 100, 200), 0).hold, 0U);

    EXPECT_EQ(index.hold(kPool, asks(1, 199, 300), 0).hold, 0U);
    EXPECT_NE(index.hold(kPool, asks(1, 200, 300), 0).hold, 0U);
    EXPECT_NE(index.hold(kPool, asks(1, 50, 100), 0).hold, 0U);
}

TEST(Placement, AnExclusiveClaimTakesAllOfItsNode) {
    PlacementIndex index;
    index.put_node(node("node_a", 2));
    PlacementRequest request = asks(2);
    request.is_exclusive = true;
    request.cpu_milli_per_gpu = 1;

    const PlaceResult result = index.place(kPool, request, 0);

    const auto& bookings = result.placement.value().bookings;
    EXPECT_EQ(bookings[0].cpu_milli + bookings[1].cpu_milli, 8'000);
    EXPECT_EQ(bookings[0].memory_mib + bookings[1].memory_mib, 80'001);
}

TEST(Placement, HealthyGpusAreTakenBeforeDegradedOnes) {
    PlacementIndex index;
    NodeState worn = node("node_a", 2);
    worn.gpus[0].health = GpuHealth::Degraded;
    index.put_node(worn);
    index.put_node(node("node_b", 2));

    for (const std::string expected : {"node_a/1", "node_b/0", "node_b/1", "node_a/0"}) {
        EXPECT_THAT(gpus_of(index.hold(kPool, asks(1), 0).result), ElementsAre(expected));
    }
}

TEST(Placement, ClaimsThatNameNoModelKeepAwayFromModelsThatOthersName) {
    PlacementIndex index;
    index.put_node(node("node_a", 8, "H100"));
    index.put_node(node("node_b", 8, "T4"));
    PlacementRequest named = asks(4);
    named.gpu_models = {"H100"};
    index.note_demand(kPool, named, 0);

    EXPECT_EQ(index.place(kPool, asks(1), 0).placement.value().nodes[0].node_id, "node_b");
    EXPECT_EQ(index.place(kPool, named, 0).placement.value().nodes[0].node_id, "node_a");
}

TEST(Placement, AGangStandsInTheTightestDomainThatHoldsIt) {
    PlacementIndex index;
    for (const std::string id : {"node_a", "node_b", "node_c", "node_d", "node_e"}) {
        NodeState state = node(id);
        state.fabric = id < "node_d" ? "wide" : "tight";
        index.put_node(state);
    }
    PlacementRequest request = asks(16);
    request.gpus_per_node = 8;
    request.fabric = FabricWish::Require;

    const PlaceResult result = index.place(kPool, request, 0);

    EXPECT_EQ(result.placement.value().nodes[0].node_id, "node_d");
    EXPECT_EQ(result.placement.value().nodes[1].node_id, "node_e");
    request.gpu_count = 32;
    EXPECT_EQ(index.place(kPool, request, 0).explanation.value().filtered.fabric, 5);
}

TEST(Placement, ACommittedHoldIsWhatTheNextReadingSays) {
    PlacementIndex index;
    index.put_node(node("node_a", 2));
    const HoldResult held = index.hold(kPool, asks(1), 0);
    NodeState read = node("node_a", 2);
    read.version = 2;
    read.bookings = {{.starts_at = 100, .ends_at = 200, .gpu = 0, .milli = 1000}};

    // Read between the commit and the word of it: the booking is there twice for a moment.
    EXPECT_TRUE(index.put_node(read));
    index.commit_hold(held.hold, {{"node_a", 2}});

    EXPECT_NE(index.hold(kPool, asks(1), 0).hold, 0U);
    EXPECT_EQ(index.hold(kPool, asks(1), 0).hold, 0U);
    EXPECT_EQ(index.find_version("node_a"), 2);
}

TEST(Placement, HoldsThatAreToldOutOfOrderEndAtTheLastVersion) {
    PlacementIndex index;
    index.put_node(node("node_a", 4));
    const HoldId first = index.hold(kPool, asks(1), 0).hold;
    const HoldId second = index.hold(kPool, asks(1), 0).hold;

    index.commit_hold(second, {{"node_a", 3}});
    EXPECT_EQ(index.find_version("node_a"), 1);
    index.commit_hold(first, {{"node_a", 2}});

    EXPECT_EQ(index.find_version("node_a"), 3);
    EXPECT_EQ(index.summarize(kPool, 100, 200)[0].booked, 2);
}

TEST(Placement, AnOlderReadingChangesNothing) {
    PlacementIndex index;
    NodeState state = node("node_a", 1);
    state.version = 5;
    index.put_node(state);
    state.version = 4;
    state.is_ready = false;

    EXPECT_FALSE(index.put_node(state));
    index.remove_node("node_a", 6);
    state.version = 6;
    EXPECT_FALSE(index.put_node(state));

    EXPECT_EQ(index.count_nodes(), 0U);
}

TEST(Placement, AnExtendEndsWhereTheNextHolderBegins) {
    PlacementIndex index;
    index.put_node(node("node_a", 1));
    const HoldResult mine = index.hold(kPool, asks(1, 100, 200), 0);
    ASSERT_NE(index.hold(kPool, asks(1, 250, 300), 0).hold, 0U);
    const auto& held = mine.result.placement.value().bookings;

    EXPECT_EQ(index.check_extend(held, 200, 240).free_until, 240);
    EXPECT_EQ(index.check_extend(held, 200, 400).free_until, 250);
}

TEST(Placement, ARefusalCountsNodesByTheFirstReason) {
    PlacementIndex index;
    NodeState silent = node("node_a");
    silent.is_ready = false;
    NodeState cordoned = node("node_b");
    cordoned.is_enabled = false;
    NodeState broken = node("node_d");
    broken.gpus[0].health = GpuHealth::Failed;
    for (const NodeState& state :
         {silent, cordoned, node("node_c", 8, "T4"), broken, node("node_e")}) {
        index.put_node(state);
    }
    PlacementRequest request = asks(8);
    request.gpus_per_node = 8;
    request.gpu_models = {"H100"};
    ASSERT_NE(index.hold(kPool, request, 0).hold, 0U);

    const Explanation why = index.place(kPool, request, 0).explanation.value();

    EXPECT_EQ(why.nodes, 5);
    EXPECT_EQ(why.filtered.disconnected, 1);
    EXPECT_EQ(why.filtered.cordoned, 1);
    EXPECT_EQ(why.filtered.model, 1);
    EXPECT_EQ(why.filtered.health, 1);
    EXPECT_EQ(why.filtered.busy, 1);
    EXPECT_TRUE(why.could_ever_fit);
    EXPECT_FALSE(explanation_json(why).at("earliestStart").is_null());
}

TEST(Placement, AClaimOnANodeOfSeveralModelsGetsOnlyTheModelItNames) {
    PlacementIndex index;
    NodeState mixed = node("node_a", 4);
    mixed.gpus[0].model = "T4";
    mixed.gpus[2].model = "T4";
    index.put_node(mixed);
    PlacementRequest whole = asks(2);
    whole.gpu_models = {"H100"};
    PlacementRequest share = asks(1);
    share.gpu_models = {"T4"};
    share.gpu_milli = 300;
    share.may_share_gpus = true;

    EXPECT_THAT(gpus_of(index.place(kPool, whole, 0)), ElementsAre("node_a/1", "node_a/3"));
    ASSERT_NE(index.hold(kPool, asks(1), 0).hold, 0U);  // node_a/0
    EXPECT_THAT(gpus_of(index.place(kPool, share, 0)), ElementsAre("node_a/2"));
}

TEST(Placement, AsManyChangesAsThereAreOpenHoldsMayBeOnesOwn) {
    PlacementIndex index;
    index.put_node(node("node_a"));
    const HoldId hold = index.hold(kPool, asks(1), 0).hold;

    EXPECT_TRUE(index.may_be_own("node_a", 2));
    EXPECT_FALSE(index.may_be_own("node_a", 3));
    index.commit_hold(hold, {{.node_id = "node_a", .version = 2}});
    EXPECT_EQ(index.find_version("node_a"), 2);
    EXPECT_FALSE(index.may_be_own("node_a", 3));
    EXPECT_FALSE(index.may_be_own("node_b", 1));
}

TEST(Placement, ThePoolsRoomIsCountedByModel) {
    PlacementIndex index;
    NodeState first = node("node_a", 4);
    first.fabric = "rack-1";
    index.put_node(first);
    NodeState second = node("node_b", 4);
    second.gpus[3].health = GpuHealth::Missing;
    index.put_node(second);
    // As much CPU and memory beside each GPU as the others have: nothing is stranded anywhere, and
    // the node with fewer GPUs to spare is taken.
    NodeState third = node("node_c", 1, "A10");
    third.cpu_milli = 2'000;
    third.memory_mib = 20'000;
    index.put_node(third);
    PlacementRequest request = asks(2);
    request.gpu_models = {"H100"};
    ASSERT_NE(index.hold(kPool, request, 0).hold, 0U);

    const std::vector<ModelCapacity> models = index.summarize(kPool, 100, 200);

    ASSERT_EQ(models.size(), 2U);
    EXPECT_EQ(models[0].gpu_model, "A10");
    EXPECT_EQ(models[1].total, 8);
    EXPECT_EQ(models[1].healthy, 7);
    EXPECT_EQ(models[1].booked, 2);
    EXPECT_EQ(models[1].free, 5);
    EXPECT_EQ(models[1].largest_hole, 4);
    EXPECT_EQ(models[1].domains.at(0).whole_nodes_free, 1);
    EXPECT_THAT(index.summarize("pool_other", 100, 200), IsEmpty());
}

}  // namespace
}  // namespace compute::capacity
