// A tenant looks at its deliveries, sends them again, and deletes them.
#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using std::chrono::hours;
using ::testing::SizeIs;

void queue_many(Lab& lab, int count) {
    for (int i = 0; i < count; ++i) {
        lab.emit("acme", "node.lost", {{"n", i}});
    }
    lab.fan_out();
}

TEST_P(Webhooks, W70_W71_HistoryIsNewestFirstInPages) {
    Lab lab(GetParam());
    const std::string first = lab.create("acme", {"*"});
    const std::string second = lab.create("acme", {"node.*"});
    queue_many(lab, 60);

    const Json page = lab.call("deliveries", "acme");
    std::vector<Json> all = {page["items"].begin(), page["items"].end()};
    for (Json next = page; next.contains("nextCursor");) {
        next = lab.call("deliveries", "acme", {{"cursor", next["nextCursor"]}, {"limit", 33}});
        all.insert(all.end(), next["items"].begin(), next["items"].end());
    }

    EXPECT_EQ(page["items"].size(), 50U);
    ASSERT_THAT(all, SizeIs(120));
    std::set<std::string> distinct;
    for (std::size_t i = 0; i < all.size(); ++i) {
        distinct.insert(all[i]["id"]);
        EXPECT_TRUE(i == 0 || all[i]["createdAt"] <= all[i - 1]["createdAt"]);
    }
    EXPECT_THAT(distinct, SizeIs(120));
    EXPECT_THAT(lab.deliveries("acme", {{"webhookId", second}}), SizeIs(60));
    EXPECT_THAT(lab.deliveries("acme", {{"state", "dead"}}), SizeIs(0));
    for (const Json& bad : {Json(0), Json(201)}) {
        EXPECT_EQ(
            lab.error("deliveries", "acme", {{"limit", bad}}).code(), ErrorCode::InvalidInput
        );
    }
    EXPECT_EQ(lab.error("deliveries", "acme", {{"cursor", "zzz"}}).code(), ErrorCode::InvalidInput);
}

TEST_P(Webhooks, W72_W75_RedeliverStartsAnew) {
    for (const int status : {500, 204, 0}) {
        Lab lab(GetParam());
        const std::string webhook = lab.create("acme", {"*"});
        lab.queue("acme");
        lab.process.answer = [&](const Sent&) { return answered(status); };
        if (status == 0) {
            lab.call("update", "acme", {{"webhookId", webhook}, {"active", false}});
            lab.call("update", "acme", {{"webhookId", webhook}, {"active", true}});
        }
        const auto run_out = [&] {
            for (int i = 0; i < 8; ++i) {
                lab.process.deliver();
                lab.plane.clock.advance(hours(24));
            }
        };
        run_out();
        const Json before = lab.only_delivery("acme");
        ASSERT_NE(before["state"], "pending");

        const Json again = lab.call("redeliver", "acme", {{"deliveryId", before["id"]}});

        EXPECT_EQ(again["state"], "pending");
        EXPECT_EQ(again["attempts"], 0);
        EXPECT_EQ(again["id"], before["id"]);
        EXPECT_EQ(again["nextAttemptAt"], lab.plane.clock.now_ms());
        EXPECT_EQ(again, lab.only_delivery("acme"));
        EXPECT_FALSE(
            again.contains("lastStatus") || again.contains("lastError") ||
            again.contains("deliveredAt")
        );
        lab.process.sent.clear();
        lab.process.answer = [](const Sent&) { return answered(500); };
        run_out();
        EXPECT_THAT(lab.process.sent, SizeIs(8));
        EXPECT_EQ(lab.only_delivery("acme")["state"], "dead");
    }
}

TEST_P(Webhooks, W73_W74_RedeliverRefusals) {
    Lab lab(GetParam());
    const std::string webhook = lab.create("acme", {"*"});
    lab.queue("acme");
    const std::string id = lab.only_delivery("acme")["id"];
    const Json before = lab.only_delivery("acme");

    EXPECT_EQ(lab.error("redeliver", "acme", {{"deliveryId", id}}).code(), ErrorCode::InvalidState);
    EXPECT_EQ(lab.only_delivery("acme"), before);
    EXPECT_EQ(lab.error("redeliver", "rival", {{"deliveryId", id}}).code(), ErrorCode::NotFound);
    EXPECT_EQ(
        lab.error("redeliver", "acme", {{"deliveryId", "dlv_01k5y3v0m6y8x7w5t4s3r2p1n0"}}).code(),
        ErrorCode::NotFound
    );
    lab.call("update", "acme", {{"webhookId", webhook}, {"active", false}});
    EXPECT_EQ(lab.error("redeliver", "acme", {{"deliveryId", id}}).code(), ErrorCode::NotFound);
}

TEST_P(Webhooks, W92_CancelledOnesComeOnlyByRedeliver) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    lab.queue("acme");
    lab.call("update", "acme", {{"webhookId", id}, {"active", false}});
    lab.call("update", "acme", {{"webhookId", id}, {"active", true}});

    lab.process.deliver();
    EXPECT_TRUE(lab.process.sent.empty());

    lab.call("redeliver", "acme", {{"deliveryId", lab.only_delivery("acme")["id"]}});
    lab.process.deliver();
    EXPECT_THAT(lab.process.sent, SizeIs(1));
}

TEST_P(Webhooks, W93_DeleteTakesTheHistoryWithIt) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    queue_many(lab, 5);
    lab.process.claim_pass();
    lab.process.send(2);  // two in flight have their answers, none is written

    EXPECT_EQ(lab.call("delete", "acme", {{"webhookId", id}}), Json({{"deleted", true}}));
    lab.process.engine.wake_changes();
    lab.process.deliver();

    for (const char* count :
         {"select count(*) from webhooks",
          "select count(*) from webhook_lanes",
          "select count(*) from webhook_deliveries",
          "select count(*) from webhook_bodies",
          "select count(*) from webhook_attempts"}) {
        EXPECT_EQ(lab.number(count), 0) << count;
    }
    EXPECT_THAT(lab.process.sent, SizeIs(2));
    EXPECT_EQ(lab.error("get", "acme", {{"webhookId", id}}).code(), ErrorCode::NotFound);
}

}  // namespace
}  // namespace compute::events
