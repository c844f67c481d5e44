// Claims, leases, lanes and what becomes of an attempt.
#include "core/json.h"
#include "modules/events/policy.h"
#include "modules/events/signing.h"

#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Queues `count` deliveries of distinct events for the tenant's webhooks.
void queue_many(Lab& lab, int count, const std::string& tenant = "acme") {
    for (int i = 0; i < count; ++i) {
        lab.emit(tenant, "node.lost", {{"n", i}});
    }
    lab.fan_out();
}

std::vector<int> order_of(const std::vector<Sent>& sent, const std::string& webhook) {
    std::vector<int> out;
    for (const Sent& request : sent) {
        if (request.webhook == webhook) {
            out.push_back(parse_json(request.body)["data"]["n"]);
        }
    }
    return out;
}

TEST_P(Webhooks, W3_AnAnswerThatWasNotWrittenIsSentAgain) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    {
        Process killed(lab.plane);
        killed.claim_pass();
        killed.send();
        ASSERT_THAT(killed.sent, SizeIs(1));
        lab.process.sent = killed.sent;
    }  // dies before its result is settled

    lab.plane.clock.advance(seconds(41));
    lab.process.deliver();

    ASSERT_THAT(lab.process.sent, SizeIs(2));
    EXPECT_EQ(lab.process.sent[0].delivery, lab.process.sent[1].delivery);
    EXPECT_EQ(lab.process.sent[0].body, lab.process.sent[1].body);
    EXPECT_EQ(lab.only_delivery("acme")["state"], "delivered");
}

TEST_P(Webhooks, W5_OneProcessOpensWhatAnotherSealed) {
    Lab lab(GetParam());
    support::TestPlane second(lab.plane, {events_module(lab.plane.config), lab_events()});
    const std::string id = lab.create("acme", {"*"});
    lab.queue("acme");
    Process other(second);

    other.deliver();

    ASSERT_THAT(other.sent, SizeIs(1));
    const auto& headers = other.sent[0].headers;
    EXPECT_EQ(
        headers.at("x-better-compute-signature"),
        "v1=" + webhook_signature(
                    crypto::Secret(lab.secrets[id]),
                    headers.at("x-better-compute-timestamp"),
                    other.sent[0].body
                )
    );
}

TEST_P(Webhooks, W17_APassClaimsUpToFifty) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 120);
    std::vector<int> claimed;

    for (int pass = 0; pass < 4; ++pass) {
        claimed.push_back(lab.process.claim_pass().claimed);
        lab.process.send();
    }

    EXPECT_THAT(claimed, ElementsAre(50, 50, 20, 0));
}

TEST_P(Webhooks, W17_APassOverManyWebhooksIsStillFifty) {
    Lab lab(GetParam());
    for (int i = 0; i < 6; ++i) {
        lab.create("acme", {"*"});
    }
    queue_many(lab, 20);

    const StepReport report = lab.process.claim_pass();

    EXPECT_LE(report.claimed, 50);
    EXPECT_GE(report.lanes_picked, 6);
}

TEST_P(Webhooks, W18_ALeaseIsTheTimeoutAndThirtySeconds) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    Process killed(lab.plane);
    ASSERT_EQ(killed.claim_pass().claimed, 1);

    lab.plane.clock.advance(seconds(39));
    lab.process.engine.wake();
    EXPECT_EQ(lab.process.claim_pass().claimed, 0);

    lab.plane.clock.advance(seconds(1));
    lab.process.engine.wake();
    EXPECT_EQ(lab.process.claim_pass().claimed, 1);
}

TEST_P(Webhooks, W19_OneWebhookGoesOneAtATimeInOrder) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    queue_many(lab, 60);

    lab.process.deliver();

    std::vector<int> expected(60);
    for (int i = 0; i < 60; ++i) {
        expected[static_cast<std::size_t>(i)] = i;
    }
    EXPECT_EQ(order_of(lab.process.sent, id), expected);
}

TEST_P(Webhooks, W20_AHungReceiverDelaysNoOther) {
    Lab lab(GetParam());
    const std::string hung = lab.create("acme", {"*"}, "https://hung.example/");
    const std::string good = lab.create("acme", {"*"}, "https://good.example/");
    queue_many(lab, 10);
    lab.process.answer = [&](const Sent& sent) {
        if (sent.webhook == hung) {
            lab.plane.clock.advance(seconds(10));
            return timed_out();
        }
        return answered(204);
    };

    lab.process.claim_pass();
    lab.process.fast.run(lab.process.engine, lab.process.answer, lab.process.sent);

    // The hung lane had one try in the first loop and gave the rest back; all of the good one's
    // went out.
    EXPECT_THAT(order_of(lab.process.sent, hung), SizeIs(1));
    EXPECT_THAT(order_of(lab.process.sent, good), SizeIs(10));
    lab.process.engine.wake();
    lab.process.engine.step();
    EXPECT_EQ(lab.process.fast.waiting(), 0U);
    EXPECT_GT(lab.process.slow.waiting(), 0U);
}

TEST_P(Webhooks, W21_AClaimCountsAsAnAttempt) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");

    Process killed(lab.plane);
    killed.claim_pass();

    const Json delivery = lab.only_delivery("acme");
    EXPECT_EQ(delivery["attempts"], 1);
    EXPECT_FALSE(delivery.contains("lastStatus"));
    EXPECT_EQ(delivery["state"], "pending");
}

TEST_P(Webhooks, W22_W90_APausedWebhookGetsNothing) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    queue_many(lab, 3);
    lab.process.claim_pass();  // held in memory when the pause comes

    lab.call("update", "acme", {{"webhookId", id}, {"active", false}});
    const auto cancelled = lab.deliveries("acme", {{"state", "cancelled"}});
    lab.process.engine.wake_changes();
    lab.process.engine.step();
    lab.process.deliver();

    EXPECT_THAT(cancelled, SizeIs(3));
    EXPECT_TRUE(lab.process.sent.empty());
    EXPECT_EQ(lab.process.engine.rows_held(), 0);
}

TEST_P(Webhooks, W22_WhatWasQueuedBesideThePauseIsCancelled) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    lab.queue("acme");
    lab.plane.database().execute("update webhooks set active = 0");

    lab.process.deliver();

    EXPECT_TRUE(lab.process.sent.empty());
    EXPECT_EQ(lab.only_delivery("acme")["state"], "cancelled");
}

TEST_P(Webhooks, W49_EveryAttemptSendsTheSameBytes) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    int count = 0;
    lab.process.answer = [&](const Sent&) { return answered(++count < 3 ? 500 : 204); };

    for (int i = 0; i < 3; ++i) {
        lab.process.deliver();
        lab.plane.clock.advance(hours(1));
    }
    lab.call("redeliver", "acme", {{"deliveryId", lab.only_delivery("acme")["id"]}});
    lab.process.deliver();

    ASSERT_THAT(lab.process.sent, SizeIs(4));
    for (const Sent& sent : lab.process.sent) {
        EXPECT_EQ(sent.body, lab.process.sent[0].body);
        EXPECT_EQ(sent.delivery, lab.process.sent[0].delivery);
    }
}

TEST_P(Webhooks, W52_TheHeadersOfADelivery) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    lab.queue("acme");
    lab.process.deliver();

    const auto& headers = lab.process.sent.at(0).headers;

    EXPECT_EQ(headers.at("content-type"), "application/json");
    EXPECT_EQ(headers.at("user-agent"), "better-compute-webhooks/1");
    EXPECT_EQ(headers.at("x-better-compute-event"), "node.lost");
    EXPECT_EQ(headers.at("x-better-compute-webhook"), id);
    EXPECT_EQ(headers.at("x-better-compute-delivery"), lab.only_delivery("acme")["id"]);
    EXPECT_EQ(
        headers.at("x-better-compute-timestamp"), std::to_string(lab.plane.clock.now_ms() / 1000)
    );
    EXPECT_THAT(
        headers.at("x-better-compute-signature"), ::testing::MatchesRegex("v1=[0-9a-f]{64}")
    );
}

TEST_P(Webhooks, W58_AnySuccessDelivers) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    const std::vector<int> statuses = {200, 204, 299};
    std::size_t next = 0;
    queue_many(lab, 3);
    lab.process.answer = [&](const Sent&) { return answered(statuses.at(next++)); };

    lab.process.deliver();

    EXPECT_THAT(lab.deliveries("acme", {{"state", "delivered"}}), SizeIs(3));
}

TEST_P(Webhooks, W59_W60_W61_W68_AnythingElseIsAFailedAttempt) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 6);
    const std::vector<net::AttemptResult> results = {
        answered(302),
        answered(400),
        answered(500),
        answered(503),
        refused("connection refused"),
        timed_out(),
    };
    std::size_t next = 0;
    lab.process.answer = [&](const Sent&) { return results.at(next++); };

    lab.process.deliver();

    auto deliveries = lab.deliveries("acme");
    std::reverse(deliveries.begin(), deliveries.end());
    ASSERT_THAT(deliveries, SizeIs(6));
    for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(deliveries[i]["state"], "pending");
        EXPECT_EQ(deliveries[i]["attempts"], 1);
        EXPECT_EQ(deliveries[i].contains("lastStatus"), results[i].status.has_value());
        EXPECT_EQ(deliveries[i]["lastError"], results[i].error);
        EXPECT_EQ(deliveries[i]["nextAttemptAt"], lab.plane.clock.now_ms() + 60'000);
    }
}

TEST_P(Webhooks, W62_W63_AFailureHoldsNothingBack) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 2);
    int count = 0;
    lab.process.answer = [&](const Sent&) { return answered(++count == 1 ? 500 : 204); };

    lab.process.claim_pass();
    lab.process.send();
    lab.process.settle();

    ASSERT_THAT(lab.process.sent, SizeIs(2));
    const auto deliveries = lab.deliveries("acme");
    EXPECT_EQ(deliveries[0]["state"], "delivered");
    EXPECT_EQ(deliveries[1]["state"], "pending");
    lab.plane.clock.advance(seconds(60));
    lab.process.deliver();
    EXPECT_EQ(lab.process.sent.at(2).delivery, lab.process.sent.at(0).delivery);
}

TEST_P(Webhooks, W64_W65_W66_EightFailuresOverFortyFourHours) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    lab.process.answer = [](const Sent&) { return answered(500); };
    const std::vector<std::int64_t> table = {60, 300, 1800, 7200, 21600, 43200, 86400};
    std::vector<std::int64_t> delays;

    for (int attempt = 1; attempt <= 8; ++attempt) {
        lab.process.deliver();
        const Json delivery = lab.only_delivery("acme");
        ASSERT_EQ(delivery["attempts"], attempt);
        if (attempt < 8) {
            const std::int64_t wait =
                delivery["nextAttemptAt"].get<std::int64_t>() - lab.plane.clock.now_ms();
            delays.push_back(wait / 1000);
            lab.plane.clock.advance(milliseconds(wait - 1));
            lab.process.deliver();
            ASSERT_THAT(lab.process.sent, SizeIs(attempt));  // not a millisecond early
            lab.plane.clock.advance(milliseconds(1));
        }
    }

    EXPECT_EQ(delays, table);
    EXPECT_EQ(lab.only_delivery("acme")["state"], "dead");
    EXPECT_EQ(lab.process.sent.back().at - lab.process.sent.front().at, 160'560'000);
    lab.plane.clock.advance(hours(1000));
    lab.process.deliver();
    EXPECT_THAT(lab.process.sent, SizeIs(8));
}

TEST_P(Webhooks, W67_ThePolicyIsConfigurable) {
    config::Config config = lab_config();
    config.events.delivery.max_attempts = 5;
    config.events.delivery.backoff_seconds = {1, 2};
    config.events.delivery.limit = 1;
    Lab lab(GetParam(), config);
    lab.create("acme", {"*"});
    lab.queue("acme");
    lab.process.answer = [](const Sent&) { return answered(500); };
    std::vector<std::int64_t> delays;

    lab.process.deliver();
    while (lab.only_delivery("acme")["state"] == "pending") {
        delays.push_back(
            lab.only_delivery("acme")["nextAttemptAt"].get<std::int64_t>() -
            lab.plane.clock.now_ms()
        );
        lab.plane.clock.advance(milliseconds(delays.back()));
        lab.process.deliver();
    }

    EXPECT_THAT(delays, ElementsAre(1000, 2000, 2000, 2000));
}

TEST_P(Webhooks, W69_SuccessClearsTheError) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    int count = 0;
    lab.process.answer = [&](const Sent&) { return answered(++count == 1 ? 500 : 201); };

    lab.process.deliver();
    lab.plane.clock.advance(seconds(60));
    lab.process.deliver();

    const Json delivery = lab.only_delivery("acme");
    EXPECT_EQ(delivery["state"], "delivered");
    EXPECT_EQ(delivery["lastStatus"], 201);
    EXPECT_EQ(delivery["deliveredAt"], lab.plane.clock.now_ms());
    EXPECT_FALSE(delivery.contains("lastError"));
    EXPECT_FALSE(delivery.contains("nextAttemptAt"));
}

TEST_P(Webhooks, W86_W87_W88_PingReachesItsWebhook) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"node.lost"});
    lab.create("acme", {"*"});

    const Json ping = lab.call("ping", "acme", {{"webhookId", id}});
    EXPECT_EQ(ping, lab.only_delivery("acme"));
    lab.process.deliver();

    ASSERT_THAT(lab.process.sent, SizeIs(1));
    const Json body = parse_json(lab.process.sent[0].body);
    EXPECT_EQ(ping["state"], "pending");
    EXPECT_EQ(body["type"], "webhook.ping");
    EXPECT_EQ(body["data"], Json({{"webhookId", id}}));
    EXPECT_EQ(body["sequence"], "");
    EXPECT_EQ(body["subject"], "webhook/" + id);
    lab.call("update", "acme", {{"webhookId", id}, {"active", false}});
    EXPECT_EQ(lab.error("ping", "acme", {{"webhookId", id}}).code(), ErrorCode::NotFound);
}

TEST_P(Webhooks, W106_EventsOutliveAReceiverThatIsDown) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    queue_many(lab, 20);
    const EpochMs up_at = lab.plane.clock.now_ms() + 7'200'000;
    lab.process.answer = [&](const Sent& sent) {
        return sent.at < up_at ? refused("connection refused") : answered(204);
    };

    for (int minute = 0; minute < 6 * 60; minute += 5) {
        lab.process.deliver();
        lab.plane.clock.advance(std::chrono::minutes(5));
    }

    EXPECT_THAT(lab.deliveries("acme", {{"state", "delivered"}}), SizeIs(20));
}

}  // namespace
}  // namespace compute::events
