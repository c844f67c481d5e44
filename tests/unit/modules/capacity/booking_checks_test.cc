#include "modules/capacity/booking_checks.h"

#include <algorithm>

#include "modules/capacity/node_checks.h"
#include "modules/capacity/reservation_checks.h"
#include "outbox/catalog.h"
#include "store/migrate.h"

#include "tests/unit/modules/capacity/claims_lab.h"

namespace compute::capacity {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BookingChecks : public ClaimsLab {
protected:
    std::string pool = create_pool();
    NodeId node = add_node(pool, {.name = "n1"});

    std::vector<method::Finding> run(const std::string& id) {
        method::CheckContext context{
            plane.database(),
            plane.runtime().config,
            plane.clock,
            store::built_in_migrations(),
            plane.runtime().catalog};
        std::vector<method::Check> checks = booking_checks();
        for (auto more : {reservation_checks, node_checks}) {
            for (method::Check& check : more()) {
                checks.push_back(std::move(check));
            }
        }
        const auto check = std::find_if(checks.begin(), checks.end(), [&](const auto& other) {
            return other.id == id;
        });
        return check->run(context);
    }
    // A booking as no method would write it.
    void insert(
        const std::string& id,
        std::int64_t milli,
        const std::string& holder,
        const std::function<void(Booking&)>& change = [](Booking&) {}
    ) {
        Booking booking;
        booking.id = id;
        booking.tenant_id = TenantId("acme");
        booking.pool_id = PoolId(pool);
        booking.node_id = node;
        booking.milli = milli;
        booking.cpu_milli = 1;
        booking.memory_mib = 1;
        booking.starts_at = plane.clock.now_ms();
        booking.ends_at = booking.starts_at + kHour;
        booking.holder_type = "reservation";
        booking.holder_id = holder;
        plane.database().write([&](store::Transaction& tx) {
            booking.gpu_uuid = gpus_of(tx, booking.tenant_id, node).at(0).uuid;
            change(booking);
            insert_bookings(tx, {booking});
        });
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, BookingChecks, support::both_engines(), support::engine_name);

TEST_P(BookingChecks, AreSilentAboutOrdinaryReservations) {
    reserve(asks(pool, 3));

    EXPECT_THAT(run("capacity.double-bookings"), IsEmpty());
    EXPECT_THAT(run("capacity.stray-bookings"), IsEmpty());
    EXPECT_THAT(run("capacity.lost-nodes-with-bookings"), IsEmpty());
    EXPECT_THAT(run("capacity.stuck-drafts"), IsEmpty());
    EXPECT_THAT(run("capacity.node-clock-skew"), IsEmpty());
    EXPECT_THAT(run("capacity.nodes-silent"), IsEmpty());
    EXPECT_THAT(run("capacity.gpus-unhealthy"), IsEmpty());
}

TEST_P(BookingChecks, NameANodeOfWhichMoreIsBookedThanThereIs) {
    const auto of_no_gpu = [](std::int64_t cpu, std::int64_t memory) {
        return [=](Booking& booking) {
            booking.gpu_uuid.reset();
            booking.cpu_milli = cpu;
            booking.memory_mib = memory;
        };
    };
    insert("bkg_1", 0, "rsv_1", of_no_gpu(96'000, 786'432));
    EXPECT_THAT(run("capacity.double-bookings"), IsEmpty());
    insert("bkg_2", 0, "rsv_2", of_no_gpu(1, 0));

    const auto found = run("capacity.double-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("CPU of " + node.str()));
}

TEST_P(BookingChecks, NameAPartThatLiesOutsideOfItsWhole) {
    const Json whole = reserve(asks(pool, 1));
    const std::string gpu = bookings(whole).at(0).gpu_uuid.value();
    const auto part_until = [&](EpochMs end) {
        return [&, end](Booking& booking) {
            booking.gpu_uuid = gpu;
            booking.parent_id = whole.at("id").get<std::string>();
            booking.holder_type = "instance";
            booking.ends_at = end;
        };
    };
    const EpochMs end = bookings(whole).at(0).ends_at;
    insert("bkg_1", 1'000, "ins_1", part_until(end));
    EXPECT_THAT(run("capacity.stray-bookings"), IsEmpty());
    EXPECT_THAT(run("capacity.double-bookings"), IsEmpty());
    insert("bkg_2", 1'000, "ins_2", part_until(end + 1));

    const auto found = run("capacity.stray-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("bkg_2 lies outside"));
}

TEST_P(BookingChecks, NameABookingThatOutlivesItsReservation) {
    const Json over = reserve(asks(pool, 1));
    run_timers();
    call("release", {{"reservationId", over.at("id")}});
    EXPECT_THAT(run("capacity.stray-bookings"), IsEmpty());  // its cleanup time
    insert("bkg_1", 100, over.at("id"));

    const auto found = run("capacity.stray-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("which is released"));
}

TEST_P(BookingChecks, NameADeniedClaimThatHoldsCapacity) {
    plane.iam.set_policy([](const auto&, const auto&) { return false; });
    (void)error_of_reserve(asks(pool, 1));
    plane.iam.set_policy({});
    const Json denied = call("list", {{"state", "denied"}}).at("items").at(0);
    EXPECT_THAT(run("capacity.stray-bookings"), IsEmpty());
    insert("bkg_1", 100, denied.at("id"));

    const auto found = run("capacity.stray-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("which is denied"));
}

TEST_P(BookingChecks, NameDraftsThatNobodyRemoves) {
    constexpr EpochMs kDeniedLife = 7 * 24 * kHour;
    plane.iam.set_policy([](const auto&, const auto&) { return false; });
    (void)error_of_reserve(asks(pool, 1));

    advance(kDeniedLife + kHour);
    EXPECT_THAT(run("capacity.stuck-drafts"), IsEmpty());
    advance(1);
    const auto found = run("capacity.stuck-drafts");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].count, 1);
    run_timers();
    EXPECT_THAT(run("capacity.stuck-drafts"), IsEmpty());
}

TEST_P(BookingChecks, NameNodesWhoseClockIsOffBySoMuchOrMore) {
    change_node(node, [](Node& row) { row.clock_skew_ms = -2'000; });
    EXPECT_THAT(run("capacity.node-clock-skew"), IsEmpty());
    change_node(node, [](Node& row) { row.clock_skew_ms = -2'001; });

    const auto found = run("capacity.node-clock-skew");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("n1"));
}

TEST_P(BookingChecks, NameNodesThatAreNotHeard) {
    change_node(node, [](Node& row) { row.connection = "disconnected"; });

    ASSERT_THAT(run("capacity.nodes-silent"), SizeIs(1));
    EXPECT_THAT(run("capacity.lost-nodes-with-bookings"), IsEmpty());
}

TEST_P(BookingChecks, NameAGpuOfWhichMoreIsBookedThanThereIs) {
    insert("bkg_1", 600, "rsv_1");
    EXPECT_THAT(run("capacity.double-bookings"), IsEmpty());
    insert("bkg_2", 401, "rsv_2");

    const auto found = run("capacity.double-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity, method::Severity::Error);
    EXPECT_THAT(found[0].message, HasSubstr("GPU "));
    advance(kHour);
    EXPECT_THAT(run("capacity.double-bookings"), IsEmpty());
}

TEST_P(BookingChecks, NameABookingOfNobody) {
    insert("bkg_1", 600, "rsv_nobody");

    const auto found = run("capacity.stray-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("rsv_nobody, which is gone"));
}

TEST_P(BookingChecks, NameALostNodeThatHoldsBookings) {
    reserve(asks(pool, 2));
    change_node(node, [](Node& row) { row.connection = "lost"; });

    const auto found = run("capacity.lost-nodes-with-bookings");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].message, HasSubstr("n1"));
    EXPECT_THAT(found[0].message, HasSubstr("2 bookings"));
}

}  // namespace
}  // namespace compute::capacity
