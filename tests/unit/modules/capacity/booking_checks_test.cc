#include "modules/capacity/booking_checks.h"

#include <algorithm>

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
        const std::vector<method::Check> checks = booking_checks();
        const auto check = std::find_if(checks.begin(), checks.end(), [&](const auto& other) {
            return other.id == id;
        });
        return check->run(context);
    }
    // A booking as no method would write it.
    void insert(const std::string& id, std::int64_t milli, const std::string& holder) {
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
