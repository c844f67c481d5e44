#include "daemon/health.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/memory_log.h"
#include "tests/support/test_database.h"

namespace compute::daemon {
namespace {

class HealthOf : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, HealthOf, support::both_engines(), support::engine_name);

TEST_P(HealthOf, AProcessIsReadyFromItsStartToItsStop) {
    support::TestDatabase database(GetParam());
    support::FakeClock clock;
    Health health(database.database(), store::built_in_migrations(), {"api"}, clock, null_log());

    EXPECT_EQ(health.faults(), std::vector<std::string>{"starting"});
    health.set_started();
    EXPECT_TRUE(health.faults().empty());
    health.set_stopping();
    EXPECT_EQ(health.faults(), std::vector<std::string>{"stopping"});
}

TEST_P(HealthOf, ANewerSchemaIsNoticedAndSaidOnce) {
    support::TestDatabase database(GetParam());
    support::FakeClock clock;
    support::MemoryLog log;
    Health health(database.database(), store::built_in_migrations(), {"api"}, clock, log);
    health.set_started();
    health.check_schema();
    ASSERT_TRUE(health.faults().empty());

    database.database().execute(
        "insert into schema_migrations (position, name, applied_at, checksum) values (9999, "
        "'core/9999_future', 1, "
        "'x')"
    );
    health.check_schema();
    health.check_schema();

    EXPECT_EQ(health.faults().size(), 1U);
    EXPECT_EQ(log.count("health.schema_changed"), 1);
    EXPECT_TRUE(log.mentions("core/9999_future"));
}

TEST_P(HealthOf, TheDatabaseIsAskedAtMostTwiceASecond) {
    support::TestDatabase database(GetParam());
    support::FakeClock clock;
    Health health(database.database(), store::built_in_migrations(), {"api"}, clock, null_log());
    const auto statements = [&] {
        return database.database().counters(store::Purpose::Background).statements;
    };
    static_cast<void>(health.faults());
    const auto before = statements();

    for (int i = 0; i < 100; ++i) {
        static_cast<void>(health.faults());
    }
    EXPECT_EQ(statements(), before);
    clock.advance(std::chrono::milliseconds(500));
    static_cast<void>(health.faults());
    EXPECT_EQ(statements(), before + 1);
}

}  // namespace
}  // namespace compute::daemon
