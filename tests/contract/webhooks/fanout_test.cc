// From the outbox to the queue.
#include <thread>

#include "core/json.h"
#include "modules/events/body.h"
#include "modules/events/signing.h"
#include "outbox/outbox.h"

#include "tests/contract/webhooks/faulty_database.h"
#include "tests/contract/webhooks/lab.h"
#include "tests/support/eventually.h"

namespace compute::events {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> types(const std::vector<Json>& deliveries) {
    std::vector<std::string> out;
    for (const Json& delivery : deliveries) {
        out.push_back(delivery["eventType"]);
    }
    return out;
}

TEST_P(Webhooks, W2_EveryCommittedMatchingEventIsSent) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"node.*"});
    for (int i = 0; i < 3; ++i) {
        lab.emit("acme", "node.lost");
    }
    EXPECT_THROW(
        lab.plane.database().write([&](store::Transaction& tx) {
            outbox::append(
                tx,
                {"node.ready",
                 TenantId("acme"),
                 "node/n",
                 std::make_shared<const Json>(Json::object())},
                lab.plane.clock,
                lab.plane.rng
            );
            throw std::runtime_error("undone");
        }),
        std::exception
    );

    lab.fan_out();
    lab.process.deliver();

    EXPECT_THAT(types(lab.deliveries("acme")), ElementsAre("node.lost", "node.lost", "node.lost"));
    ASSERT_EQ(lab.process.sent.size(), 3U);
    for (const Sent& sent : lab.process.sent) {
        EXPECT_TRUE(verify_webhook_signature({
            .secret = lab.secrets[id],
            .signature = sent.headers.at("x-better-compute-signature"),
            .timestamp = sent.headers.at("x-better-compute-timestamp"),
            .body = sent.body,
            .now_seconds = sent.at / 1000,
        }));
    }
}

TEST(WebhooksOnPostgres, W9_FanOutWaitsForALowerTransaction) {
    Lab lab(store::Engine::Postgres);
    lab.create("acme", {"*"});
    const auto slow = lab.plane.test_database().open();
    const auto append = [&](store::Transaction& tx, const char* type) {
        outbox::append(
            tx,
            {type, TenantId("acme"), "node/n", std::make_shared<const Json>(Json::object())},
            lab.plane.clock,
            lab.plane.rng
        );
        tx.query("select 1");  // what was deferred has reached the server
    };
    int held_back = -1;

    slow->write([&](store::Transaction& tx) {
        append(tx, "node.ready");
        std::jthread([&] {
            lab.plane.database().write([&](store::Transaction& late) { append(late, "node.lost"); }
            );
            held_back = lab.fan_out();
        }).join();
    });

    EXPECT_EQ(held_back, 0);
    EXPECT_TRUE(support::eventually([&] {
        lab.fan_out();
        return lab.deliveries("acme").size() == 2;
    }));
    EXPECT_THAT(
        types(lab.deliveries("acme")), ElementsAre("node.lost", "node.ready")
    );  // newest first
}

TEST_P(Webhooks, W10_OnlyActiveMatchingWebhooksOfTheTenant) {
    Lab lab(GetParam());
    const std::string wanted = lab.create("acme", {"node.*"});
    lab.create("acme", {"reservation.*"});
    lab.create("rival", {"*"});
    const std::string paused = lab.create("acme", {"*"});
    lab.call("update", "acme", {{"webhookId", paused}, {"active", false}});

    lab.queue("acme", "node.lost");

    EXPECT_EQ(lab.only_delivery("acme")["webhookId"], wanted);
    EXPECT_TRUE(lab.deliveries("rival").empty());
}

TEST_P(Webhooks, W11_AWebhookMustHaveExisted) {
    Lab lab(GetParam());
    lab.emit("acme", "node.lost");

    lab.create("acme", {"*"});

    EXPECT_EQ(lab.fan_out(), 0);
}

TEST_P(Webhooks, W12_QueueAndCursorMoveTogether) {
    Lab lab(GetParam());
    FaultyDatabase database(lab.plane.database());
    const method::Runtime runtime = database.runtime(lab.plane.runtime());
    lab.create("acme", {"*"});
    lab.emit("acme", "node.lost");
    const auto cursor = [&] {
        const store::Row row =
            lab.plane.database().query("select txid, seq from event_cursors").at(0);
        return outbox::Position{row.get_int(0), row.get_int(1)};
    };
    const outbox::Position before = cursor();
    database.dies_before_commit = true;

    EXPECT_THROW(lab.fanout.run_once(runtime), ComputeError);
    database.dies_before_commit = false;

    EXPECT_EQ(cursor(), before);
    EXPECT_EQ(lab.number("select count(*) from webhook_deliveries"), 0);
    EXPECT_EQ(lab.fanout.run_once(runtime).deliveries, 1);
    EXPECT_EQ(lab.number("select count(*) from webhook_deliveries"), 1);
}

TEST_P(Webhooks, W13_AnEventIsQueuedOncePerWebhook) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    const store::Row start =
        lab.plane.database().query("select txid, seq from event_cursors").at(0);
    lab.queue("acme");

    lab.plane.database().execute(
        "update event_cursors set txid = $1, seq = $2", {start.get_int(0), start.get_int(1)}
    );
    lab.fan_out();

    EXPECT_EQ(lab.number("select count(*) from webhook_deliveries"), 1);
}

TEST_P(Webhooks, W14_W15_TheCursorIsAnchoredOnce) {
    Lab lab(GetParam());
    lab.plane.database().execute("delete from event_cursors");
    for (int i = 0; i < 100; ++i) {
        lab.emit("acme", "node.lost");
    }
    lab.create("acme", {"*"});
    lab.plane.database().execute(
        "update webhooks set visible_mark = $1",
        {GetParam() == store::Engine::Sqlite ? "0" : "1:1:"}
    );

    anchor_cursor(lab.plane.runtime());
    EXPECT_EQ(lab.fan_out(), 0);

    for (int i = 0; i < 5; ++i) {
        lab.emit("acme", "node.lost");
    }
    anchor_cursor(lab.plane.runtime());  // a restart
    EXPECT_EQ(lab.fan_out(), 5);
}

TEST_P(Webhooks, W16_ANewWebhookGetsWhatFollows) {
    Lab lab(GetParam());
    lab.emit("acme", "node.ready");
    lab.create("acme", {"*"});

    lab.queue("acme", "node.lost");

    EXPECT_EQ(lab.only_delivery("acme")["eventType"], "node.lost");
}

TEST_P(Webhooks, W29_W30_W31_PatternsChooseTypes) {
    Lab lab(GetParam());
    const std::string all = lab.create("acme", {"*"});
    const std::string reservations = lab.create("acme", {"reservation.*"});
    const std::string nodes = lab.create("acme", {"node.*"});
    const std::string lost = lab.create("acme", {"node.lost"});
    for (const char* type :
         {"reservation.placed",
          "reservation.active",
          "node.gpu.missing",
          "node.lost",
          "nodegroup.x"}) {
        lab.emit("acme", type);
    }

    lab.fan_out();

    EXPECT_EQ(lab.deliveries("acme", {{"webhookId", all}}).size(), 5U);
    EXPECT_THAT(
        types(lab.deliveries("acme", {{"webhookId", reservations}})),
        ElementsAre("reservation.active", "reservation.placed")
    );
    EXPECT_THAT(
        types(lab.deliveries("acme", {{"webhookId", nodes}})),
        ElementsAre("node.lost", "node.gpu.missing")
    );
    EXPECT_THAT(types(lab.deliveries("acme", {{"webhookId", lost}})), ElementsAre("node.lost"));
}

TEST_P(Webhooks, W47_W48_W50_TheBodyHasExactlyItsMembers) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    const std::string id = lab.emit("acme", "node.lost", {{"state", "lost"}, {"poolId", "pool_1"}});
    lab.fan_out();
    lab.process.deliver();

    const Json body = parse_json(lab.process.sent.at(0).body);

    EXPECT_THAT(
        lab.process.sent.at(0).body,
        ::testing::MatchesRegex(
            R"(\{"id":"evt_[0-9a-z]+","type":"node.lost","tenantId":"acme","subject":"node/node_1","time":"[0-9T:.-]+Z","sequence":"[0-9]+\.[0-9]+","data":\{.*\}\})"
        )
    );
    EXPECT_EQ(body.size(), 7U);
    EXPECT_EQ(body["id"], id);
    EXPECT_EQ(body["time"], iso_time(lab.plane.clock.now_ms()));
    EXPECT_EQ(body["data"], Json({{"state", "lost"}, {"poolId", "pool_1"}}));
}

TEST_P(Webhooks, W91_W92_EventsOfAPauseAreNotQueued) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    lab.call("update", "acme", {{"webhookId", id}, {"active", false}});
    lab.emit("acme", "node.disconnected");
    lab.call("update", "acme", {{"webhookId", id}, {"active", true}});

    EXPECT_EQ(lab.fan_out(), 0);  // fanned out only after the resume

    lab.queue("acme", "node.ready");
    EXPECT_EQ(lab.only_delivery("acme")["eventType"], "node.ready");
}

TEST_P(Webhooks, W11_TwoProcessesQueueAnEventOnce) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    for (int i = 0; i < 200; ++i) {
        lab.emit("acme", "node.lost");
    }

    {
        std::vector<std::jthread> processes;
        for (int i = 0; i < 4; ++i) {
            processes.emplace_back([&] {
                Fanout fanout(20);
                while (fanout.run_once(lab.plane.runtime()).is_full) {
                }
            });
        }
    }

    EXPECT_EQ(lab.number("select count(*) from webhook_deliveries"), 200);
}

TEST_P(Webhooks, BrokenAndTooLargeEventsAreSetAside) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.emit("acme", "node.lost", {{"text", std::string(kMaxBodyBytes, 'x')}});
    const std::string broken = lab.emit("acme", "node.lost");
    lab.plane.database().execute(
        "update outbox_events set data = '{\"a\":' where id = $1", {broken}
    );
    lab.emit("acme", "node.ready");

    EXPECT_EQ(lab.fan_out(), 1);

    EXPECT_EQ(lab.only_delivery("acme")["eventType"], "node.ready");
    const auto findings = lab.check("events.set-aside");
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].count, 2);
}

}  // namespace
}  // namespace compute::events
