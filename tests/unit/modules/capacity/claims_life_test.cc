#include "modules/capacity/losses.h"

#include "tests/unit/modules/capacity/claims_lab.h"

namespace compute::capacity {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ClaimsLife : public ClaimsLab {
protected:
    void lose(const NodeId& id) {
        plane.database().write([&](store::Transaction& tx) {
            Node node = get_node(tx, TenantId("acme"), id);
            node.connection = "lost";
            EXPECT_TRUE(update_node(tx, node));
            lose_node(method::Context(plane.runtime()), tx, id);
        });
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, ClaimsLife, support::both_engines(), support::engine_name);

TEST_P(ClaimsLife, BeginsAndEndsByTheHour) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const EpochMs start = plane.clock.now_ms() + kHour;
    const Json made = reserve(asks(pool, 1, 1, {{"startsAt", start}}));

    plane.clock.set(start - 1);
    run_timers();
    const std::string before = state_of(made);
    plane.clock.set(start);
    run_timers();
    const std::string begun = state_of(made);
    plane.clock.set(start + kHour - 1);
    run_timers();
    const std::string late = state_of(made);
    plane.clock.set(start + kHour);
    run_timers();

    EXPECT_EQ(before, "placed");
    EXPECT_EQ(begun, "active");
    EXPECT_EQ(late, "active");
    EXPECT_EQ(state_of(made), "ended");
    EXPECT_THAT(
        events(), ElementsAre("reservation.placed", "reservation.active", "reservation.ended")
    );
    EXPECT_THAT(faults(), IsEmpty());
}

// After an outage what is late happens in order, with every event, once.
TEST_P(ClaimsLife, LateTimersFireInOrder) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json made = reserve(asks(pool, 1));
    advance(10 * kHour);

    TestPlane other(plane, {capacity_module()});
    other.clock.set(plane.clock.now_ms());
    (void)other.run_reconciler("capacity.timers");
    run_timers();

    EXPECT_EQ(state_of(made), "ended");
    EXPECT_THAT(
        events(), ElementsAre("reservation.placed", "reservation.active", "reservation.ended")
    );
}

TEST_P(ClaimsLife, ReleaseFreesAfterTheCleanupTime) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json made = reserve(asks(pool, 8));
    run_timers();
    advance(60'000);
    const EpochMs now = plane.clock.now_ms();

    const Json over = call("release", {{"reservationId", made.at("id")}});
    const Json again = call("release", {{"reservationId", made.at("id")}});
    const Json next = reserve(asks(pool, 8));
    const std::string early = next.at("state");
    advance(60'000);
    run_placer();

    EXPECT_EQ(over.at("state"), "released");
    EXPECT_EQ(over.at("endsAt"), now);
    EXPECT_EQ(again, over);
    EXPECT_EQ(early, "pending");
    EXPECT_EQ(state_of(next), "placed");
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsLife, ReleasingWhatHasNotBegunLeavesNothing) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json made = reserve(asks(pool, 8, 1, {{"startsAt", plane.clock.now_ms() + kHour}}));

    call("release", {{"reservationId", made.at("id")}});

    EXPECT_THAT(bookings(made), IsEmpty());
}

TEST_P(ClaimsLife, WhatWaitsIsPlacedInOrderWhenRoomComesFree) {
    const std::string pool = create_pool("p", {{"cleanupSeconds", 0}});
    add_node(pool, {.name = "n1"});
    const Json first = reserve(asks(pool, 8));
    const Json second = reserve(asks(pool, 8));
    advance(1);
    const Json third = reserve(asks(pool, 8));
    EXPECT_EQ(third.at("queuePosition"), 2);

    call("release", {{"reservationId", first.at("id")}});
    run_placer();

    EXPECT_EQ(state_of(second), "placed");
    EXPECT_EQ(state_of(third), "pending");
    EXPECT_EQ(get(third).at("queuePosition"), 1);
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsLife, ThePlacerKnowsWhenToLookAgain) {
    const std::string pool = create_pool("p", {{"cleanupSeconds", 1}});
    add_node(pool, {.name = "n1"});
    const Json first = reserve(asks(pool, 8, 0, {{"durationSeconds", 60}}));
    const Json second = reserve(asks(pool, 8));
    plane.clock.set(first.at("endsAt").get<EpochMs>() - 50);

    const auto next = plane.run_reconciler("capacity.placer");
    const auto at_once = plane.run_reconciler("capacity.placer");
    plane.clock.set(first.at("endsAt").get<EpochMs>() + 1'000);  // with the cleanup time
    (void)plane.run_reconciler("capacity.placer");

    ASSERT_TRUE(next && at_once);
    EXPECT_EQ(next->count(), 1'050);
    EXPECT_EQ(at_once->count(), 50);  // passes are at least so far apart
    EXPECT_EQ(state_of(second), "placed");
}

TEST_P(ClaimsLife, FillLetsLaterClaimsPassForTenMinutes) {
    const std::string pool = create_pool("p", {{"cleanupSeconds", 0}});
    add_node(pool, {.name = "n1"});
    const Json small = reserve(asks(pool, 1, 5));
    const Json large = reserve(asks(pool, 8));
    ASSERT_EQ(large.at("state"), "pending");
    advance(1);
    const Json passing = reserve(asks(pool, 1, 5));
    run_placer();  // sees that it was passed
    advance(10 * 60'000);

    const Json held_up = reserve(asks(pool, 1, 5));
    call("release", {{"reservationId", small.at("id")}});
    call("release", {{"reservationId", passing.at("id")}});
    run_placer();

    EXPECT_EQ(passing.at("state"), "placed");
    EXPECT_EQ(held_up.at("state"), "pending");
    EXPECT_EQ(state_of(large), "placed");
    EXPECT_EQ(state_of(held_up), "pending");
}

TEST_P(ClaimsLife, StrictNeverLetsPass) {
    const std::string pool = create_pool("p", {{"queue", "strict"}});
    add_node(pool, {.name = "n1"});
    reserve(asks(pool, 1));
    const Json large = reserve(asks(pool, 8));
    advance(1);

    const Json small = reserve(asks(pool, 1));
    run_placer();

    EXPECT_EQ(state_of(large), "pending");
    EXPECT_EQ(state_of(small), "pending");
}

TEST_P(ClaimsLife, WaitingEndsAtPlaceBy) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    reserve(asks(pool, 8, 100));
    const EpochMs now = plane.clock.now_ms();
    const Json given = reserve(asks(pool, 8, 1, {{"placeBy", now + kHour}}));
    const Json fixed = reserve(asks(pool, 8, 1, {{"startsAt", now + 2 * kHour}}));
    const Json patient = reserve(asks(pool, 8));

    EXPECT_EQ(given.at("placeBy"), now + kHour);
    EXPECT_EQ(fixed.at("placeBy"), now + 2 * kHour);
    EXPECT_EQ(patient.at("placeBy"), now + 24 * kHour);
    plane.clock.set(now + kHour - 1);
    run_timers();
    EXPECT_EQ(state_of(given), "pending");
    plane.clock.set(now + kHour);
    run_timers();
    EXPECT_EQ(state_of(given), "failed");
    EXPECT_EQ(get(given).at("operation").at("state"), "failed");
    EXPECT_EQ(state_of(fixed), "pending");
    EXPECT_THAT(events(), Contains("reservation.failed"));
}

TEST_P(ClaimsLife, WhatThePoolCouldNeverHoldFails) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json impossible = reserve(asks(pool, 9));
    const Json other_model = reserve(asks(pool, 1, 1, {{"gpuModels", {"A100"}}}));

    run_placer();

    EXPECT_EQ(state_of(impossible), "failed");
    EXPECT_EQ(state_of(other_model), "failed");
}

TEST_P(ClaimsLife, WhatIsStillExpectedIsWaitedFor) {
    const Json group{
        {"names", "gpu-[0-3]"},
        {"gpuModel", "H100"},
        {"gpuCount", 8},
        {"cpuMilli", 96'000},
        {"memoryMib", 786'432}};
    const std::string pool = create_pool("p", {{"nodeGroups", Json::array({group})}});
    const Json made = reserve(asks(pool, 8));

    run_placer();
    const std::string waiting = state_of(made);
    add_node(pool, {.name = "gpu-0"});
    run_placer();

    EXPECT_EQ(waiting, "pending");
    EXPECT_EQ(state_of(made), "placed");
}

TEST_P(ClaimsLife, ADeletedPoolsQueueFails) {
    const std::string pool = create_pool();
    const Json waiting = reserve(asks(pool, 1));
    plane.call("pools/delete", admin, {{"tenantId", "acme"}, {"poolId", pool}});

    run_placer();

    EXPECT_EQ(state_of(waiting), "failed");
    EXPECT_EQ(get(waiting).at("reason"), "the pool was deleted");
}

TEST_P(ClaimsLife, AProjectWithClaimsIsNotArchived) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json project = plane.call(
        "projects/create", admin, {{"tenantId", "acme"}, {"name", "p"}, {"idempotencyKey", "p"}}
    );
    const Json made = reserve(asks(pool, 1, 1, {{"projectId", project.at("id")}}));
    const Json archive{{"tenantId", "acme"}, {"projectId", project.at("id")}};

    const auto refused = plane.error_of("projects/archive", admin, archive);
    call("release", {{"reservationId", made.at("id")}});

    EXPECT_EQ(refused.code(), ErrorCode::InvalidState);
    EXPECT_EQ(refused.details()->at("reservations"), 1);
    EXPECT_NO_THROW(plane.call("projects/archive", admin, archive));
    const auto late = error_of_reserve(asks(pool, 1, 1, {{"projectId", project.at("id")}}));
    EXPECT_EQ(late.code(), ErrorCode::InvalidState);
}

TEST_P(ClaimsLife, DraftsAreRemoved) {
    const std::string pool = create_pool();
    plane.iam.set_policy([](const iam::Session&, const iam::Question& question) {
        return question.action != "compute:reservations:create";
    });
    (void)error_of_reserve(asks(pool, 1));
    const Json denied = call("list", {{"state", "denied"}}).at("items")[0];

    advance(7 * 24 * kHour - 1);
    run_timers();
    EXPECT_EQ(state_of(denied), "denied");
    advance(1);
    run_timers();

    EXPECT_EQ(error_of("get", {{"reservationId", denied.at("id")}}).code(), ErrorCode::NotFound);
    EXPECT_TRUE(plane.attributes_of("reservation", denied.at("id")).is_null());
}

TEST_P(ClaimsLife, AnActiveOneMovesOnlyItsLostSlice) {
    const std::string pool = create_pool();
    const NodeId first = add_node(pool, {.name = "n1"});
    const NodeId second = add_node(pool, {.name = "n2"});
    const Json made = reserve(asks(pool, 16));
    ASSERT_EQ(made.at("state"), "placed");
    run_timers();
    const NodeId spare = add_node(pool, {.name = "n3"});
    advance(kHour / 2);

    lose(first);
    run_placer();

    const Json now = get(made);
    EXPECT_EQ(now.at("state"), "active");
    EXPECT_FALSE(now.contains("degraded"));
    std::vector<std::string> nodes;
    for (const Json& node : now.at("nodes")) {
        nodes.push_back(node.at("nodeId"));
        EXPECT_THAT(node.at("gpus"), SizeIs(8));
    }
    EXPECT_THAT(nodes, ::testing::UnorderedElementsAre(second.str(), spare.str()));
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsLife, WithoutAReplacementItIsDegradedUntilRoomComes) {
    const std::string pool = create_pool();
    const NodeId first = add_node(pool, {.name = "n1"});
    add_node(pool, {.name = "n2"});
    const Json made = reserve(asks(pool, 16));
    run_timers();
    lose(first);

    run_placer();
    const Json degraded = get(made);
    add_node(pool, {.name = "n3"});
    run_placer();

    EXPECT_EQ(degraded.at("state"), "active");
    EXPECT_EQ(degraded.at("degraded").at("missingGpus"), 8);
    EXPECT_FALSE(get(made).contains("degraded"));
    EXPECT_THAT(events(), Contains("reservation.degraded"));
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsLife, FabricIsKeptWhenItIsRequired) {
    const std::string pool = create_pool();
    const NodeId first = add_node(pool, {.name = "n1", .fabric = "rack-1"});
    add_node(pool, {.name = "n2", .fabric = "rack-1"});
    const Json made = reserve(asks(pool, 16, 1, {{"fabric", "require"}}));
    ASSERT_EQ(made.at("state"), "placed");
    run_timers();
    add_node(pool, {.name = "n3", .fabric = "rack-2"});
    lose(first);

    run_placer();
    const Json degraded = get(made);
    add_node(pool, {.name = "n4", .fabric = "rack-1"});
    run_placer();

    EXPECT_EQ(degraded.at("degraded").at("missingGpus"), 8);
    EXPECT_FALSE(get(made).contains("degraded"));
}

TEST_P(ClaimsLife, OneThatStartsSoonGoesBackIntoTheQueue) {
    const std::string pool = create_pool();
    const NodeId node = add_node(pool, {.name = "n1"});
    const EpochMs start = plane.clock.now_ms() + kHour;
    const Json made = reserve(asks(pool, 8, 1, {{"startsAt", start}}));
    lose(node);

    run_placer();
    const Json waiting = get(made);
    add_node(pool, {.name = "n2"});
    run_placer();

    EXPECT_EQ(waiting.at("state"), "pending");
    EXPECT_EQ(waiting.at("reason"), "node-lost");
    EXPECT_EQ(state_of(made), "placed");
    EXPECT_EQ(get(made).at("startsAt"), start);
    EXPECT_THAT(
        events(), ElementsAre("reservation.placed", "reservation.unplaced", "reservation.placed")
    );
}

TEST_P(ClaimsLife, OneThatStartsLaterIsLookedAtAnHourBefore) {
    const std::string pool = create_pool();
    const NodeId node = add_node(pool, {.name = "n1"});
    const EpochMs start = plane.clock.now_ms() + 5 * kHour;
    const Json made = reserve(asks(pool, 8, 1, {{"startsAt", start}}));
    lose(node);

    run_placer();
    const std::string early = state_of(made);
    add_node(pool, {.name = "n2"});
    plane.clock.set(start - kHour);
    run_placer();

    EXPECT_EQ(early, "placed");
    EXPECT_EQ(state_of(made), "placed");
    EXPECT_THAT(bookings(made, start), SizeIs(8));
    EXPECT_THAT(events(), Not(Contains("reservation.unplaced")));
}

TEST_P(ClaimsLife, SeveralPlanesFireATimerOnce) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json made = reserve(asks(pool, 1));
    TestPlane other(plane, {capacity_module()});
    other.clock.set(plane.clock.now_ms());
    for (int i = 0; i < 3; ++i) {
        (void)plane.run_reconciler("capacity.timers");
        (void)other.run_reconciler("capacity.timers");
    }

    EXPECT_EQ(state_of(made), "active");
    EXPECT_THAT(events(), ElementsAre("reservation.placed", "reservation.active"));
}

TEST_P(ClaimsLife, AnotherPlanesBookingIsSeen) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    TestPlane other(plane, {capacity_module()});
    other.clock.set(plane.clock.now_ms());
    Json ask = asks(pool, 8);
    ask["tenantId"] = "acme";
    ask["idempotencyKey"] = "elsewhere";

    const Json first = other.call("reservations/create", admin, ask);
    const Json second = reserve(asks(pool, 8));

    EXPECT_EQ(first.at("state"), "placed");
    EXPECT_EQ(second.at("state"), "pending");
}

}  // namespace
}  // namespace compute::capacity
