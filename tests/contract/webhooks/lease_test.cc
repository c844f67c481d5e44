// Leases, crashes and stops: what settled.md says about states and leases.
#include "modules/events/policy.h"

#include "tests/contract/webhooks/faulty_database.h"
#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

void queue_many(Lab& lab, int count) {
    for (int i = 0; i < count; ++i) {
        lab.emit("acme", "node.lost", {{"n", i}});
    }
    lab.fan_out();
}

TEST_P(Webhooks, AStaleHolderIsRefused) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    Process stale(lab.plane);
    stale.claim_pass();
    lab.plane.clock.advance(seconds(41));
    lab.process.claim_pass();  // takes the lane over

    stale.answer = [](const Sent&) { return answered(204); };
    net::AttemptResult late = answered(204);
    late.id = static_cast<std::uint64_t>(lab.number("select seq from webhook_deliveries"));
    late.lane = static_cast<net::LaneKey>(lab.number("select num from webhooks"));
    stale.engine.on_result(late);
    stale.settle();

    EXPECT_EQ(lab.only_delivery("acme")["state"], "pending");
    EXPECT_EQ(lab.only_delivery("acme")["attempts"], 2);
}

TEST_P(Webhooks, AShortLeaseIsRenewedBeforeASend) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 4);
    lab.process.claim_pass();
    lab.plane.clock.advance(seconds(35));  // 5 s left of 40, a send may need 10

    EXPECT_EQ(lab.process.send(), 0);
    lab.process.engine.step({.passes = 0});
    EXPECT_EQ(lab.process.send(), 4);

    Process other(lab.plane);
    lab.plane.clock.advance(seconds(39));
    EXPECT_EQ(other.claim_pass().claimed, 0);  // covered by the renewed lease
}

TEST_P(Webhooks, ALostLaneSendsNothing) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 3);
    lab.process.claim_pass();
    lab.plane.clock.advance(seconds(41));
    Process other(lab.plane);
    ASSERT_EQ(other.claim_pass().claimed, 1);

    EXPECT_EQ(lab.process.send(), 0);
    const StepReport report = lab.process.engine.step({.passes = 0});
    EXPECT_EQ(lab.process.send(), 0);

    EXPECT_EQ(report.lanes_lost, 1);
    EXPECT_EQ(lab.process.engine.rows_held(), 0);
}

TEST_P(Webhooks, AStopHandsBackWithTheAttemptUndone) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 3);
    lab.process.claim_pass();
    lab.process.send(1);

    lab.process.engine.begin_stop();
    lab.process.fast.hand_back(lab.process.engine);
    lab.process.engine.finish();

    EXPECT_EQ(lab.number("select sum(attempts) from webhook_deliveries"), 1);
    EXPECT_EQ(lab.number("select count(*) from webhook_deliveries where token is not null"), 0);
    EXPECT_EQ(lab.number("select count(*) from webhook_lanes where token is not null"), 0);
    Process next(lab.plane);
    next.deliver();  // at once: no lease to wait for
    EXPECT_THAT(next.sent, SizeIs(2));
}

TEST_P(Webhooks, AfterAnExpiredLeaseALaneGoesRowByRow) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 5);
    Process killed(lab.plane);
    ASSERT_EQ(killed.claim_pass().claimed, 5);
    lab.plane.clock.advance(seconds(41));

    EXPECT_EQ(lab.process.claim_pass().claimed, 1);
    EXPECT_EQ(lab.process.send(), 0);  // marked first
    lab.process.engine.step({.passes = 0});
    EXPECT_EQ(lab.process.send(), 1);
    EXPECT_EQ(lab.process.claim_pass().claimed, 4);  // one has settled
}

TEST_P(Webhooks, AttemptsThatWentWithALeaseAreRecordedAsUnknown) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 3);
    Process killed(lab.plane);
    ASSERT_EQ(killed.claim_pass().claimed, 3);
    lab.plane.clock.advance(seconds(41));

    lab.process.deliver();

    EXPECT_EQ(
        lab.number("select count(*) from webhook_attempts where attempt = 1 and outcome = 1 and "
                   "error = 'lease expired' and phases is null"),
        3
    );
    EXPECT_EQ(
        lab.number("select count(*) from webhook_attempts where attempt = 2 and outcome = 2"), 3
    );
    EXPECT_EQ(lab.number("select count(*) from webhook_attempts"), 6);
}

TEST_P(Webhooks, AnExpiredLastAttemptIsDeadAndNeverSentAgain) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    std::size_t sent = 0;

    for (int i = 0; i < 12; ++i) {
        Process killed(lab.plane);
        killed.engine.wake();
        killed.claim_pass();
        if (killed.send() == 0) {
            killed.engine.step({.passes = 0});  // the mark that comes before a careful send
            killed.send();
        }
        sent += killed.sent.size();
        lab.plane.clock.advance(seconds(41));
    }

    EXPECT_EQ(sent, 8U);
    EXPECT_EQ(lab.only_delivery("acme")["state"], "dead");
    EXPECT_EQ(lab.only_delivery("acme")["lastError"], "lease expired");
}

TEST_P(Webhooks, ARowThatNeverLeftDoesNotDie) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    for (int i = 0; i < 9; ++i) {
        Process killed(lab.plane);  // dies between claim and send, again and again
        killed.claim_pass();
        lab.plane.clock.advance(seconds(41));
    }

    const Json waiting = lab.only_delivery("acme");
    const auto findings = lab.check("events.never-sent");

    EXPECT_EQ(waiting["state"], "pending");
    EXPECT_THAT(waiting["lastError"].get<std::string>(), HasSubstr("before anything was sent"));
    EXPECT_THAT(findings, SizeIs(1));
    lab.plane.clock.advance(hours(25));
    lab.process.deliver();
    lab.process.engine.step({.passes = 0});
    lab.process.deliver();
    EXPECT_EQ(lab.only_delivery("acme")["state"], "delivered");
}

TEST_P(Webhooks, RetryAfterLengthensAndGoneEnds) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 3);
    int count = 0;
    lab.process.answer = [&](const Sent&) {
        ++count;
        net::AttemptResult result = answered(count == 1 ? 429 : count == 2 ? 503 : 410);
        result.retry_after = net::RetryAfter{count == 1 ? 3600 : 5, std::nullopt};
        return result;
    };

    lab.process.deliver();

    const auto deliveries = lab.deliveries("acme");
    EXPECT_EQ(deliveries[2]["nextAttemptAt"], lab.plane.clock.now_ms() + 3'600'000);
    EXPECT_EQ(deliveries[1]["nextAttemptAt"], lab.plane.clock.now_ms() + 60'000);
    EXPECT_EQ(deliveries[0]["state"], "dead");
    EXPECT_THAT(deliveries[0]["lastError"].get<std::string>(), HasSubstr("410"));
}

TEST_P(Webhooks, ManyWebhooksAreServedInTurn) {
    Lab lab(GetParam());
    for (int i = 0; i < 12; ++i) {
        lab.create("acme", {"*"});
    }
    queue_many(lab, 30);
    EngineOptions few;
    few.fast_lanes = few.unproven_lanes = 3;
    few.lane_depth = 5;
    few.lane_session_rows = 10;
    Process process(lab.plane, few);
    process.answer = [&](const Sent&) {
        lab.plane.clock.advance(std::chrono::milliseconds(1));
        return answered(204);
    };

    process.deliver();

    EXPECT_THAT(process.sent, SizeIs(360));
    std::set<std::string> early;
    for (std::size_t i = 0; i < 180; ++i) {
        early.insert(process.sent[i].webhook);
    }
    EXPECT_EQ(early.size(), 12U);  // nobody waits for another's whole backlog
}

TEST_P(Webhooks, AStepThatFailsKeepsItsResults) {
    Lab lab(GetParam());
    FaultyDatabase database(lab.plane.database());
    const method::Runtime runtime = database.runtime(lab.plane.runtime());
    EngineCounters counters;
    Engine engine(runtime, counters);
    FakeLoop fast(lab.plane.clock);
    FakeLoop slow(lab.plane.clock);
    fast.owner(engine);
    slow.owner(engine);
    engine.attach(fast, slow);
    lab.create("acme", {"*"});
    queue_many(lab, 3);
    engine.step();
    std::vector<Sent> sent;
    fast.run(
        engine, [](const Sent&) { return answered(204); }, sent
    );
    database.dies_before_commit = true;
    EXPECT_THROW(engine.step(), ComputeError);
    database.dies_before_commit = false;

    const StepReport report = engine.step();

    EXPECT_EQ(report.settled, 3);
    EXPECT_THAT(lab.deliveries("acme", {{"state", "delivered"}}), SizeIs(3));
    EXPECT_THAT(sent, SizeIs(3));
}

}  // namespace
}  // namespace compute::events
