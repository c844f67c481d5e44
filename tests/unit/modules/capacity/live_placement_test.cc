#include "modules/capacity/live_placement.h"

#include <future>
#include <thread>

#include "tests/unit/modules/capacity/claims_lab.h"

namespace compute::capacity {
namespace {

class LivePlacementTest : public ClaimsLab {
protected:
    LivePlacement live;

    Json first_model(Json input) {
        input["tenantId"] = "acme";
        return plane.call("pools/capacity", admin, input).at("models").at(0);
    }
    void catch_up() { live.catch_up(plane.database(), plane.clock); }
    bool has_room(const std::string& pool, std::int64_t gpus) {
        PlacementRequest request;
        request.gpu_count = gpus;
        request.starts_at = plane.clock.now_ms();
        request.ends_at = request.starts_at + kHour;
        return live.with([&](PlacementIndex& index) {
            return index.place(pool, request, request.starts_at).placement.has_value();
        });
    }
};

TEST_P(LivePlacementTest, WhatIsCommittedIsTakenIn) {
    const std::string pool = create_pool();
    const NodeId node = add_node(pool, {.name = "n1"});
    catch_up();
    EXPECT_TRUE(has_room(pool, 8));

    reserve(asks(pool, 3));
    EXPECT_TRUE(has_room(pool, 8));
    catch_up();

    EXPECT_FALSE(has_room(pool, 6));
    EXPECT_TRUE(has_room(pool, 5));
    change_node(node, [](Node& row) { row.admin = "cordoned"; });
    catch_up();
    EXPECT_FALSE(has_room(pool, 1));
}

TEST_P(LivePlacementTest, ATransactionThatEndsLateIsNotMissed) {
    const std::string pool = create_pool();
    const NodeId early = add_node(pool, {.name = "n1"});
    const NodeId late = add_node(pool, {.name = "n2"});
    const auto version_of = [&](const NodeId& node) {
        return live.with([&](PlacementIndex& index) { return index.find_version(node.str()); });
    };
    std::promise<void> has_marked;
    std::promise<void> may_commit;
    catch_up();
    const std::int64_t before = version_of(late).value();
    std::jthread slow([&] {
        plane.database().write([&](store::Transaction& tx) {
            mark_node_changed(tx, TenantId("acme"), late);
            tx.query("select 1");  // sends what was deferred
            has_marked.set_value();
            may_commit.get_future().wait();
        });
    });
    has_marked.get_future().wait();
    if (GetParam() == store::Engine::Postgres) {
        // Begins later and ends first: its number is the higher one.
        plane.database().write([&](store::Transaction& tx) {
            mark_node_changed(tx, TenantId("acme"), early);
        });
    }
    catch_up();
    EXPECT_EQ(version_of(late), before);

    may_commit.set_value();
    slow.join();
    catch_up();

    EXPECT_EQ(version_of(late), before + 1);
}

TEST_P(LivePlacementTest, AWritingTransactionIsRefused) {
    plane.database().write([&](store::Transaction& tx) {
        EXPECT_THROW(live.catch_up(tx, plane.clock), ComputeError);
    });
}

TEST_P(LivePlacementTest, TheRoomOfAPoolIsAnswered) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1", .fabric = "rack-1"});
    add_node(pool, {.name = "n2"});
    reserve(asks(pool, 3));

    const Json now = first_model({{"poolId", pool}});
    advance(10 * kHour);
    const EpochMs end = plane.clock.now_ms();
    const Json past = first_model({{"poolId", pool}, {"from", end - 10 * kHour}, {"to", end}});
    const Json later = first_model({{"poolId", pool}});

    EXPECT_EQ(now.at("gpuModel"), "H100");
    EXPECT_EQ(now.at("total"), 16);
    EXPECT_EQ(now.at("healthy"), 16);
    EXPECT_EQ(now.at("booked"), 3);
    EXPECT_EQ(now.at("free"), 13);
    EXPECT_EQ(now.at("largestHole"), 8);
    EXPECT_EQ(now.at("wholeNodesFree").size(), 1U);
    EXPECT_EQ(past.at("booked"), 3);
    EXPECT_EQ(later.at("booked"), 0);
}

INSTANTIATE_TEST_SUITE_P(Engines, LivePlacementTest, support::both_engines(), support::engine_name);

}  // namespace
}  // namespace compute::capacity
