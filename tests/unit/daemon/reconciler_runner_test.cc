#include "daemon/reconciler_runner.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "tests/support/test_plane.h"

namespace compute::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::hours kNever{1};

class Runner : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, Runner, support::both_engines(), support::engine_name);

// Counts runs and lets the test wait for them.
class Counter {
public:
    int count() {
        const std::lock_guard lock(mutex_);
        ++runs_;
        changed_.notify_all();
        return runs_;
    }
    [[nodiscard]] bool wait_for(int runs) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return runs_ >= runs; });
    }
    [[nodiscard]] int runs() {
        const std::lock_guard lock(mutex_);
        return runs_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int runs_ = 0;
};

method::Reconciler counting(
    Counter& counter, milliseconds interval, std::vector<std::string> wake_on = {}
) {
    return {
        "test.count",
        interval,
        std::move(wake_on),
        [&counter](const method::Runtime&) -> std::optional<milliseconds> {
            counter.count();
            return std::nullopt;
        }};
}

TEST_P(Runner, RunsAtOnceAndAtItsInterval) {
    support::TestPlane plane(GetParam());
    Counter counter;
    const ReconcilerRunner runner(
        {counting(counter, milliseconds(5))}, plane.runtime(), {.process = "p"}
    );

    EXPECT_TRUE(counter.wait_for(3));
}

TEST_P(Runner, AWakeUpRunsItBeforeItsInterval) {
    support::TestPlane plane(GetParam());
    Counter counter;
    const ReconcilerRunner runner(
        {counting(counter, kNever, {"outbox"})}, plane.runtime(), {.process = "p"}
    );
    ASSERT_TRUE(counter.wait_for(1));

    plane.wake.wake("outbox");

    EXPECT_TRUE(counter.wait_for(2));
}

TEST_P(Runner, ItMayAskToRunAgainSooner) {
    support::TestPlane plane(GetParam());
    Counter counter;
    method::Reconciler again = counting(counter, kNever);
    again.run = [&counter](const method::Runtime&) -> std::optional<milliseconds> {
        return counter.count() < 3 ? std::optional(milliseconds(0)) : std::nullopt;
    };
    const ReconcilerRunner runner({again}, plane.runtime(), {.process = "p"});

    EXPECT_TRUE(counter.wait_for(3));
}

TEST_P(Runner, AnErrorIsLoggedOnceAndTheNextRunComes) {
    support::TestPlane plane(GetParam());
    Counter counter;
    method::Reconciler failing = counting(counter, milliseconds(5));
    failing.run = [&counter](const method::Runtime&) -> std::optional<milliseconds> {
        counter.count();
        throw internal_error("the disk is on fire");
    };
    const ReconcilerRunner runner({failing}, plane.runtime(), {.process = "p"});

    ASSERT_TRUE(counter.wait_for(4));

    EXPECT_EQ(plane.messages.count("reconciler.failed"), 1);
    EXPECT_TRUE(plane.messages.mentions("the disk is on fire"));
}

TEST_P(Runner, OneRunAtATime) {
    support::TestPlane plane(GetParam());
    Counter counter;
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    method::Reconciler slow = counting(counter, milliseconds(1), {"outbox"});
    slow.run = [&](const method::Runtime& runtime) -> std::optional<milliseconds> {
        most = std::max<int>(most, ++inside);
        runtime.wake.wake("outbox");
        --inside;
        counter.count();
        return milliseconds(0);
    };
    const ReconcilerRunner runner({slow}, plane.runtime(), {.process = "p"});

    ASSERT_TRUE(counter.wait_for(50));

    EXPECT_EQ(most, 1);
}

TEST_P(Runner, HeartbeatsStandWhileItRunsAndGoWithACleanStop) {
    support::TestPlane plane(GetParam());
    Counter counter;
    const auto beats = [&] {
        return plane.database().query(
            "select process, reconciler, interval_ms from reconciler_heartbeats"
        );
    };
    {
        const ReconcilerRunner runner(
            {counting(counter, milliseconds(5))}, plane.runtime(), {.process = "host:1:2"}
        );
        ASSERT_TRUE(counter.wait_for(1));
        while (beats().empty() && counter.wait_for(counter.runs() + 1)) {
        }
        ASSERT_EQ(beats().size(), 1U);
        EXPECT_EQ(beats()[0].get_text(0), "host:1:2");
        EXPECT_EQ(beats()[0].get_text(1), "test.count");
        EXPECT_EQ(beats()[0].get_int(2), 10'000);
    }

    EXPECT_TRUE(beats().empty());
}

TEST_P(Runner, NothingRunsAfterAStop) {
    support::TestPlane plane(GetParam());
    Counter counter;
    ReconcilerRunner runner(
        {counting(counter, milliseconds(1), {"outbox"})}, plane.runtime(), {.process = "p"}
    );
    ASSERT_TRUE(counter.wait_for(1));

    runner.finish_stop();
    const int runs = counter.runs();
    plane.wake.wake("outbox");

    EXPECT_EQ(counter.runs(), runs);
}

TEST(RunnerOnPostgres, AnotherProcessWakesItThroughTheDatabase) {
    support::TestPlane plane(store::Engine::Postgres);
    const auto other = plane.test_database().open();
    Counter counter;
    const ReconcilerRunner runner(
        {counting(counter, kNever, {"outbox"})}, plane.runtime(), {.process = "p"}
    );
    ASSERT_TRUE(counter.wait_for(1));

    other->notify("outbox");

    EXPECT_TRUE(counter.wait_for(2));
}

}  // namespace
}  // namespace compute::daemon
