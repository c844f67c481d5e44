// Pruning and the checks of doctor.
#include "modules/events/prune.h"

#include "modules/events/checks.h"

#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using support::TestPlane;
using ::testing::SizeIs;

constexpr EpochMs kHour = 3'600'000;

// `count` deliveries of one webhook, queued so long ago, in a state, straight into the tables.
void plant(
    Lab& lab, int count, DeliveryState state, std::int64_t age_ms, std::int64_t late_ms = 0
) {
    static std::atomic<int> series = 0;
    const int base = (series += 1) * 1'000'000;
    const EpochMs now = lab.plane.clock.now_ms();
    if (lab.number("select count(*) from webhooks") == 0) {
        lab.create("acme", {"*"});
    }
    lab.plane.database().write([&](store::Transaction& tx) {
        const std::int64_t webhook = tx.get_row("select max(num) from webhooks").get_int(0);
        const std::string prefix = std::to_string(base);
        tx.execute(
            store::Sql(
                "insert into webhook_bodies (event_id, tenant_id, type, position, body) select "
                "'evt_' || $1 || '_' || n.n,"
                " 'acme', 'node.lost', '', '{}' from (with recursive n(n) as (select 1 union all "
                "select n + 1 from n where n < $2)"
                " select n from n) n",
                "insert into webhook_bodies (event_id, tenant_id, type, position, body) select "
                "'evt_' || $1::text || '_' || n.n,"
                " 'acme', 'node.lost', '', '{}' from generate_series(1, $2::int) n(n)"
            ),
            {prefix, count}
        );
        tx.execute(
            store::Sql(
                "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at, "
                "done_at)"
                " select 'dlv_' || event_id, $1, event, $2, $3, $4, $3 from webhook_bodies where "
                "event_id like 'evt_' || $5 || '_%'",
                "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at, "
                "done_at)"
                " select 'dlv_' || event_id, $1, event, $2, $3::bigint, $4, $3::bigint from "
                "webhook_bodies"
                " where event_id like 'evt_' || $5::text || '_%'"
            ),
            {webhook, static_cast<int>(state), now - late_ms, now - age_ms, prefix}
        );
    });
}

std::int64_t rows(Lab& lab) {
    return lab.number("select count(*) from webhook_deliveries");
}

TEST_P(Webhooks, W76_DoctorNamesDeadLetters) {
    Lab lab(GetParam());
    EXPECT_THAT(lab.check("events.webhook-dead-letters"), SizeIs(0));

    plant(lab, 1, DeliveryState::Dead, kHour);

    const auto findings = lab.check("events.webhook-dead-letters");
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].count, 1);
    EXPECT_EQ(findings[0].severity, method::Severity::Warning);
}

TEST_P(Webhooks, W77_DoctorNamesABacklog) {
    Lab lab(GetParam());
    plant(lab, 1000, DeliveryState::Pending, kHour, 301'000);
    plant(lab, 500, DeliveryState::Pending, kHour, 299'000);  // 4:59 late
    EXPECT_THAT(lab.check("events.webhook-backlog"), SizeIs(0));

    plant(lab, 1, DeliveryState::Pending, kHour, 301'000);

    const auto findings = lab.check("events.webhook-backlog");
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].count, 1001);
}

TEST_P(Webhooks, W79_W80_W81_AgeCountsFromQueueing) {
    Lab lab(GetParam());
    const auto survives = [&](DeliveryState state, std::int64_t age_ms) {
        plant(lab, 1, state, age_ms);
        static_cast<void>(run_prune(lab.plane.runtime()));
        const bool is_there = rows(lab) > 0;
        lab.plane.database().execute("delete from webhook_deliveries");
        return is_there;
    };

    EXPECT_FALSE(survives(DeliveryState::Delivered, 30 * kDayMs + 1000));
    EXPECT_FALSE(survives(DeliveryState::Cancelled, 30 * kDayMs + 1000));
    EXPECT_TRUE(survives(DeliveryState::Delivered, 29 * kDayMs));
    EXPECT_TRUE(survives(DeliveryState::Dead, 89 * kDayMs));
    EXPECT_FALSE(survives(DeliveryState::Dead, 91 * kDayMs));
    EXPECT_TRUE(survives(DeliveryState::Pending, 365 * kDayMs));
}

TEST_P(Webhooks, W82_ARunDeletesFiveThousandAndComesAgain) {
    Lab lab(GetParam());
    plant(lab, 12'000, DeliveryState::Delivered, 31 * kDayMs);
    std::vector<std::int64_t> left;
    std::vector<std::optional<std::chrono::milliseconds>> again;

    for (int run = 0; run < 3; ++run) {
        again.push_back(lab.plane.run_reconciler("events.prune"));
        left.push_back(rows(lab));
    }

    EXPECT_EQ(left, (std::vector<std::int64_t>{7'000, 2'000, 0}));
    EXPECT_EQ(again[0], std::chrono::milliseconds(1000));
    EXPECT_EQ(again[1], std::chrono::milliseconds(1000));
    EXPECT_EQ(again[2], std::nullopt);
    EXPECT_EQ(lab.number("select count(*) from webhook_bodies"), 0);
}

TEST_P(Webhooks, W83_W85_PruningOnItsOwn) {
    Lab lab(GetParam());
    plant(lab, 30, DeliveryState::Delivered, 3 * kDayMs);
    plant(lab, 30, DeliveryState::Dead, 3 * kDayMs);
    const EpochMs now = lab.plane.clock.now_ms();
    store::Database& database = lab.plane.database();

    EXPECT_EQ(prune_webhook_deliveries(database, std::nullopt, now), 0);
    EXPECT_EQ(prune_webhook_deliveries(database, config::Retention{2, 90}, now, 10), 10);
    EXPECT_EQ(prune_webhook_deliveries(database, config::Retention{2, 90}, now), 20);
    EXPECT_EQ(prune_webhook_deliveries(database, config::Retention{30, 2}, now), 30);
    EXPECT_EQ(rows(lab), 0);
}

TEST_P(Webhooks, ALongHistoryOfADeletedWebhookIsPruned) {
    Lab lab(GetParam());
    plant(lab, 5'200, DeliveryState::Delivered, kHour);
    const std::string id = lab.call("list", "acme")["items"][0]["id"];

    lab.call("delete", "acme", {{"webhookId", id}});
    EXPECT_EQ(rows(lab), 200);
    EXPECT_THAT(lab.deliveries("acme"), SizeIs(0));
    lab.plane.run_reconciler("events.prune");

    EXPECT_EQ(rows(lab), 0);
    EXPECT_EQ(lab.number("select count(*) from webhook_leftovers"), 0);
}

TEST_P(Webhooks, DoctorNamesLagRotationAndPruning) {
    Lab lab(GetParam());
    EXPECT_THAT(lab.check("events.fanout-lag"), SizeIs(0));
    lab.create("acme", {"*"});
    lab.emit("acme", "node.lost");
    lab.plane.clock.advance(std::chrono::milliseconds(kFanoutLagMs - 1));
    EXPECT_THAT(lab.check("events.fanout-lag"), SizeIs(0));
    lab.plane.clock.advance(std::chrono::milliseconds(1));
    EXPECT_THAT(lab.check("events.fanout-lag"), SizeIs(1));
    lab.fan_out();
    EXPECT_THAT(lab.check("events.fanout-lag"), SizeIs(0));
    lab.plane.database().execute("update event_cursors set txid = txid + 1000000000");
    const auto future = lab.check("events.fanout-lag");
    ASSERT_THAT(future, SizeIs(1));
    EXPECT_EQ(future[0].severity, method::Severity::Error);

    EXPECT_THAT(lab.check("events.prune-behind"), SizeIs(0));
    plant(lab, 2, DeliveryState::Delivered, 32 * kDayMs);
    plant(lab, 2, DeliveryState::Dead, 92 * kDayMs);
    EXPECT_THAT(lab.check("events.prune-behind"), SizeIs(0));
    plant(lab, 1, DeliveryState::Delivered, 32 * kDayMs + 1);
    plant(lab, 1, DeliveryState::Dead, 92 * kDayMs + 1);
    const auto behind = lab.check("events.prune-behind");
    ASSERT_THAT(behind, SizeIs(1));
    EXPECT_EQ(behind[0].count, 2);
}

TEST_P(Webhooks, W67_DeliveryOptionsAreCheckedAtDefinition) {
    const auto refuses = [](const std::function<void(config::Config&)>& change) {
        config::Config config = lab_config();
        change(config);
        try {
            static_cast<void>(events_module(config));
        } catch (const ComputeError& error) {
            return error.code() == ErrorCode::InvalidConfig;
        }
        return false;
    };

    EXPECT_TRUE(refuses([](auto& c) { c.events.delivery.max_attempts = 0; }));
    EXPECT_TRUE(refuses([](auto& c) { c.events.delivery.backoff_seconds = {}; }));
    EXPECT_TRUE(refuses([](auto& c) { c.events.delivery.backoff_seconds = {60, -1}; }));
    EXPECT_TRUE(refuses([](auto& c) { c.events.delivery.timeout_ms = 0; }));
    EXPECT_TRUE(refuses([](auto& c) { c.events.delivery.limit = 0; }));
    EXPECT_FALSE(refuses([](auto& c) { c.events.delivery.limit = 1; }));
}

TEST_P(Webhooks, W84_ARetentionUnderADayIsRefused) {
    const auto refuses = [](double days, double dead_days) {
        config::Config config = lab_config();
        config.events.retention = config::Retention{days, dead_days};
        try {
            static_cast<void>(events_module(config));
        } catch (const ComputeError& error) {
            return error.code() == ErrorCode::InvalidConfig;
        }
        return false;
    };

    EXPECT_TRUE(refuses(0, 90));
    EXPECT_TRUE(refuses(0.5, 90));
    EXPECT_TRUE(refuses(30, 0.99));
    EXPECT_FALSE(refuses(1, 1));
}

}  // namespace
}  // namespace compute::events
