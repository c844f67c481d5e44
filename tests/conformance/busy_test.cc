// When the database is busy: locks of others, deadlocks, a pool that is used up.
#include <future>
#include <latch>

#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

constexpr store::Sql kTouch = "update items set other = coalesce(other, 0) + 1 where id = $1";

class Busy : public EngineTest {
protected:
    void SetUp() override {
        EngineTest::SetUp();
        db().execute(kInsertItem, {1, "one"});
        db().execute(kInsertItem, {2, "two"});
    }

    std::unique_ptr<store::Database> open_impatient(int pool_size = 8) {
        store::Options options;
        options.busy_timeout = std::chrono::milliseconds(50);
        options.pool_size = pool_size;
        return data().open(options);
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, Busy, support::both_engines(), support::engine_name);

TEST_P(Busy, GivesUpOnTheLockOfAnotherProcessAfterTheTimeout) {
    const auto other = open_impatient();
    db().write([&](store::Transaction& tx) {
        tx.execute(kTouch, {1});
        std::thread([&] { EXPECT_THROW(other->execute(kTouch, {1}), store::StoreBusy); }).join();
    });
    other->execute(kTouch, {1});

    EXPECT_EQ(db().query("select other from items where id = 1").at(0).get_int(0), 2);
}

TEST_P(Busy, WaitsForTheLockOfAnotherProcess) {
    const auto other = data().open();
    std::promise<void> locked;
    std::thread holder([&] {
        db().write([&](store::Transaction& tx) {
            tx.execute(kTouch, {1});
            locked.set_value();
            std::this_thread::yield();
        });
    });
    locked.get_future().wait();
    other->execute(kTouch, {1});
    holder.join();

    EXPECT_EQ(db().query("select other from items where id = 1").at(0).get_int(0), 2);
}

TEST_P(Busy, SaysWhenToTryAgain) {
    const auto other = open_impatient();
    db().write([&](store::Transaction& tx) {
        tx.execute(kTouch, {1});
        std::thread([&] {
            try {
                other->execute(kTouch, {1});
                ADD_FAILURE() << "nothing was thrown";
            } catch (const ComputeError& error) {
                EXPECT_EQ(error.code(), ErrorCode::StorageBusy);
                EXPECT_GT(retry_after_ms(error).value_or(0), 0);
            }
        }).join();
    });
}

TEST_P(Busy, GivesUpOnAPoolThatIsUsedUp) {
    const auto small = open_impatient(1);
    small->read([&](store::Transaction& tx) {
        tx.query(kCountItems);
        std::thread([&] { EXPECT_THROW(small->query(kCountItems), store::StoreBusy); }).join();
    });

    EXPECT_EQ(small->query(kCountItems).at(0).get_int(0), 2);
}

class BusyPostgres : public Busy {};
INSTANTIATE_TEST_SUITE_P(
    Engines, BusyPostgres, ::testing::Values(store::Engine::Postgres), support::engine_name
);

TEST_P(BusyPostgres, RunsTheVictimOfADeadlockAgain) {
    std::latch both_hold_one{2};
    const auto cross = [&](int first, int second) {
        bool has_waited = false;
        db().write([&](store::Transaction& tx) {
            tx.execute(kTouch, {first});
            if (!has_waited) {  // only the first run: the other may be done by the second
                has_waited = true;
                both_hold_one.arrive_and_wait();
            }
            tx.execute(kTouch, {second});
        });
    };
    std::thread other([&] { cross(2, 1); });
    cross(1, 2);
    other.join();

    EXPECT_EQ(db().query("select sum(other) from items").at(0).get_int(0), 4);
    EXPECT_EQ(db().counters(store::Purpose::Call).retries, 1U);
}

TEST_P(BusyPostgres, RunsAgainAfterASerializationFailureAtMostFiveTimes) {
    int runs = 0;
    const auto fail = [&](store::Transaction& tx) {
        ++runs;
        tx.execute("do $$ begin raise serialization_failure; end $$");
    };

    EXPECT_THROW(db().write(fail), store::StoreBusy);

    EXPECT_EQ(runs, 6);
}

TEST_P(BusyPostgres, RunsAgainWhenTheFailureComesWithTheCommit) {
    db().execute("create table log (id bigint)");
    db().write([](store::Transaction& tx) {
        tx.script(
            "create function once() returns trigger language plpgsql as $$ begin "
            "if nextval('runs') < 3 then raise serialization_failure; end if; return null; end $$;"
            "create sequence runs;"
            "create constraint trigger late after insert on log deferrable initially deferred "
            "for each row execute function once();"
        );
    });
    int runs = 0;
    db().write([&](store::Transaction& tx) {
        ++runs;
        tx.defer("insert into log values (1)");
    });

    EXPECT_EQ(runs, 3);
    EXPECT_EQ(db().query("select count(*) from log").at(0).get_int(0), 1);
}

}  // namespace
}  // namespace compute::conformance
