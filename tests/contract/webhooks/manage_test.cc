// The ten methods: what they take, answer and refuse.
#include <atomic>
#include <thread>

#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using support::TestPlane;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::set<std::string> keys(const Json& object) {
    std::set<std::string> out;
    for (const auto& [key, value] : object.items()) {
        out.insert(key);
    }
    return out;
}

Json hook(const std::string& url = "https://hooks.example.com/a") {
    return {{"url", url}, {"events", {"node.*"}}};
}

TEST_P(Webhooks, W1_AWebhookIsAUrlAndPatterns) {
    Lab lab(GetParam());

    const Json made = lab.call(
        "create",
        "acme",
        {{"url", "https://hooks.example.com/a"}, {"events", {"node.*", "reservation.active"}}}
    );

    EXPECT_EQ(made["webhook"]["url"], "https://hooks.example.com/a");
    EXPECT_EQ(made["webhook"]["events"], Json({"node.*", "reservation.active"}));
    EXPECT_EQ(made["webhook"]["active"], true);
    EXPECT_EQ(lab.number("select count(*) from webhooks where active = 1"), 1);
}

TEST(WebhooksModule, W4_ASecretHasThirtyTwoCharacters) {
    config::Config config;
    config.secret = crypto::Secret(std::string(31, 'x'));

    EXPECT_THROW(static_cast<void>(events_module(config)), ComputeError);

    config.secret = crypto::Secret(std::string(32, 'x'));
    EXPECT_NO_THROW(static_cast<void>(events_module(config)));
}

TEST_P(Webhooks, W6_TheTablesComeWithTwoMigrations) {
    Lab lab(GetParam());
    support::TestDatabase fresh(GetParam(), support::Content::Empty);

    const auto applied = store::migrate_up(fresh.database(), store::built_in_migrations(), 1);
    const auto again = store::migrate_up(fresh.database(), store::built_in_migrations(), 2);

    EXPECT_THAT(
        applied, ::testing::IsSupersetOf({"events/0001_webhooks", "events/0002_delivery_retention"})
    );
    EXPECT_TRUE(again.empty());
    for (const char* count :
         {"select count(*) from webhooks",
          "select count(*) from webhook_deliveries",
          "select count(*) from event_cursors"}) {
        EXPECT_EQ(fresh.database().query(count).at(0).get_int(0), 0);
    }
}

TEST(WebhooksModule, W7_ThreeReconcilersHaveTheirIntervals) {
    std::map<std::string, std::int64_t> intervals;
    for (const method::Reconciler& reconciler : events_module(lab_config()).reconcilers) {
        intervals[reconciler.name] = reconciler.interval.count();
    }

    EXPECT_EQ(
        intervals,
        (std::map<std::string, std::int64_t>{
            {"events.fanout", 1000}, {"events.deliver", 2000}, {"events.prune", 3'600'000}})
    );
}

TEST_P(Webhooks, W23_CreateAnswersWebhookAndSecret) {
    Lab lab(GetParam());

    const Json made = lab.call(
        "create", "acme", {{"url", "https://h.example/x"}, {"events", {"*"}}, {"description", "d"}}
    );

    EXPECT_EQ(keys(made), (std::set<std::string>{"webhook", "secret"}));
    EXPECT_EQ(
        keys(made["webhook"]),
        (std::set<std::string>{
            "id",
            "tenantId",
            "url",
            "events",
            "description",
            "active",
            "createdAt",
            "updatedAt",
            "createdBy"})
    );
    EXPECT_THAT(
        made["webhook"]["id"].get<std::string>(),
        ::testing::MatchesRegex("whk_[0-9a-hjkmnp-tv-z]{26}")
    );
    EXPECT_THAT(lab.error("create", "acme", {{"events", {"*"}}}).message(), HasSubstr("Required"));
}

TEST_P(Webhooks, W24_TheSecretIsShownOnce) {
    Lab lab(GetParam());
    const Json made = lab.call("create", "acme", hook());
    const std::string id = made["webhook"]["id"];
    const std::string secret = made["secret"];
    const std::string sealed =
        lab.plane.database().query("select secret from webhooks").at(0).get_text(0);
    lab.queue("acme");

    std::string all =
        lab.call("get", "acme", {{"webhookId", id}}).dump() + lab.call("list", "acme").dump();
    all += lab.call("update", "acme", {{"webhookId", id}, {"description", "x"}}).dump();
    all += lab.call("deliveries", "acme").dump();

    EXPECT_THAT(secret, ::testing::MatchesRegex("whsec_[A-Za-z0-9_-]{43}"));
    EXPECT_EQ(all.find(secret), std::string::npos);
    EXPECT_EQ(all.find(sealed), std::string::npos);
    EXPECT_EQ(all.find("\"secret\""), std::string::npos);
}

TEST_P(Webhooks, W25_ATenantHasTwenty) {
    Lab lab(GetParam());
    for (int i = 0; i < 19; ++i) {
        lab.create("acme", {"*"});
    }
    std::atomic<int> made = 0;
    std::atomic<int> refused = 0;

    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                try {
                    lab.call("create", "acme", hook());
                    ++made;
                } catch (const ComputeError& error) {
                    EXPECT_EQ(error.code(), ErrorCode::QuotaExceeded);
                    ++refused;
                }
            });
        }
    }

    EXPECT_EQ(made, 1);
    EXPECT_EQ(refused, 3);
    EXPECT_NO_THROW(lab.create("other", {"*"}));
}

TEST_P(Webhooks, W26_TheLimitIsConfigurable) {
    config::Config config = lab_config();
    config.events.max_per_tenant = 3;
    Lab lab(GetParam(), config);
    for (int i = 0; i < 3; ++i) {
        lab.create("acme", {"*"});
    }

    EXPECT_EQ(lab.error("create", "acme", hook()).code(), ErrorCode::QuotaExceeded);
}

TEST_P(Webhooks, W27_EveryMethodIsDecidedOnTheTenant) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    lab.queue("acme");
    const std::string delivery = lab.only_delivery("acme")["id"];
    lab.process.deliver();
    const std::vector<std::pair<std::string, Json>> calls = {
        {"create", hook()},
        {"get", {{"webhookId", id}}},
        {"list", Json::object()},
        {"update", {{"webhookId", id}, {"description", "x"}}},
        {"rotateSecret", {{"webhookId", id}}},
        {"ping", {{"webhookId", id}}},
        {"deliveries", Json::object()},
        {"redeliver", {{"deliveryId", delivery}}},
        {"eventTypes", Json::object()},
        {"delete", {{"webhookId", id}}},
    };
    for (const auto& [method, input] : calls) {
        lab.plane.clock.advance(std::chrono::seconds(11)
        );  // past what a read before it was allowed
        lab.plane.clear();

        lab.call(method, "acme", input);

        int decisions = 0;
        for (const support::IamCall& call : lab.plane.iam.calls()) {
            if (call.what == "require" || call.what == "authorize") {
                ++decisions;
                EXPECT_EQ(call.action, "compute:webhooks:manage") << method;
                EXPECT_EQ(call.resource, (iam::ResourceRef{"compute-tenant", "acme"})) << method;
            }
        }
        EXPECT_EQ(decisions, 1) << method;
        EXPECT_EQ(
            lab.plane.registry().find("webhooks/" + method)->row->action, "compute:webhooks:manage"
        );
    }
}

TEST_P(Webhooks, W28_CreateTakesNoIdempotencyKey) {
    Lab lab(GetParam());
    Json input = hook();
    input["idempotencyKey"] = "k";

    EXPECT_EQ(lab.error("create", "acme", input).message(), "Unknown field idempotencyKey");

    const std::string first = lab.create("acme", {"*"});
    const std::string second = lab.create("acme", {"*"});
    lab.queue("acme");
    EXPECT_NE(lab.secrets[first], lab.secrets[second]);
    EXPECT_EQ(lab.deliveries("acme").size(), 2U);
}

TEST_P(Webhooks, W32_PatternsAreLowerCaseBetweenDots) {
    Lab lab(GetParam());
    for (const char* pattern :
         {"Node.*",
          "node.**",
          "node.",
          ".node",
          "no*de",
          "a_b",
          "",
          "node..lost",
          "*.lost",
          "node.*.x",
          "webhook.ping"}) {
        const ComputeError error =
            lab.error("create", "acme", {{"url", "https://h.example/"}, {"events", {pattern}}});

        EXPECT_EQ(error.code(), ErrorCode::InvalidInput) << pattern;
        EXPECT_THAT(error.message(), StartsWith("events")) << pattern;
    }
}

TEST_P(Webhooks, W33_PatternsThatNothingMatchesAreNamed) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});

    const ComputeError one =
        lab.error("create", "acme", {{"url", "https://h.example/"}, {"events", {"nodes.*"}}});
    const ComputeError two = lab.error(
        "update", "acme", {{"webhookId", id}, {"events", {"nodes.*", "node.lost", "widget.made"}}}
    );

    EXPECT_EQ(one.code(), ErrorCode::InvalidInput);
    EXPECT_EQ((*one.details())["unknown"], Json({"nodes.*"}));
    EXPECT_EQ((*two.details())["unknown"], Json({"nodes.*", "widget.made"}));
}

TEST_P(Webhooks, W34_AnExactTypeNeedsAFamily) {
    Lab lab(GetParam());

    EXPECT_NO_THROW(lab.create("acme", {"reservation.nope"}));

    const ComputeError error = lab.error(
        "create", "acme", {{"url", "https://h.example/"}, {"events", {"resevation.nope"}}}
    );
    EXPECT_EQ((*error.details())["unknown"], Json({"resevation.nope"}));
}

TEST_P(Webhooks, W35_EventTypesListsTheCatalog) {
    Lab lab(GetParam());

    const Json items = lab.call("eventTypes", "acme")["items"];

    ASSERT_EQ(items.size(), 3U);
    EXPECT_EQ(
        items[0],
        Json(
            {{"type", "node.*"},
             {"subject", "node/{id}"},
             {"module", "lab"},
             {"description", "A node changed."}}
        )
    );
}

TEST_P(Webhooks, W36_ExtraEventsAddFamilies) {
    config::Config config = lab_config();
    config.events.extra_events = {{"acme.widget.*", "widget/{id}", "acme", "A widget changed."}};
    Lab lab(GetParam(), config);

    EXPECT_NO_THROW(lab.create("acme", {"acme.widget.*"}));

    EXPECT_THAT(lab.call("eventTypes", "acme").dump(), HasSubstr("acme.widget.*"));
}

TEST_P(Webhooks, W37_WithoutTheCatalogAnyWellFormedPatternIsTaken) {
    config::Config config = lab_config();
    config.events.check_catalog = false;
    Lab lab(GetParam(), config);

    EXPECT_NO_THROW(lab.create("acme", {"nodes.*"}));

    EXPECT_EQ(
        lab.error("create", "acme", {{"url", "https://h.example/"}, {"events", {"Node.*"}}}).code(),
        ErrorCode::InvalidInput
    );
}

TEST_P(Webhooks, W38_W39_W40_W41_AUrlThatMayNotBeReachedIsRefused) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    for (const char* url :
         {"http://hooks.example.com/",
          "https://u:p@h.example/",
          "https://10.0.0.1/",
          "https://127.0.0.1/",
          "https://169.254.169.254/",
          "https://100.64.0.1/",
          "https://[::1]/",
          "https://[fd00::1]/",
          "https://[::ffff:10.0.0.1]/",
          "https://2130706433/",
          "https://0177.0.0.1/",
          "https://0x7f.1/",
          "https://localhost/",
          "https://LOCALHOST./",
          "https://a.localhost/",
          "https://db.internal/",
          "https://DB.Internal./"}) {
        const ComputeError made = lab.error("create", "acme", hook(url));
        const ComputeError changed = lab.error("update", "acme", {{"webhookId", id}, {"url", url}});

        EXPECT_EQ(made.code(), ErrorCode::InvalidInput) << url;
        EXPECT_THAT(made.message(), StartsWith("url: ")) << url;
        EXPECT_EQ(changed.message(), made.message()) << url;
    }
    EXPECT_EQ(lab.number("select count(*) from webhooks"), 1);
}

TEST_P(Webhooks, W40_APublicAddressIsTaken) {
    Lab lab(GetParam());

    EXPECT_NO_THROW(lab.create("acme", {"*"}, "https://8.8.8.8/x"));
}

TEST_P(Webhooks, W46_EachFlagOpensItsOwnRule) {
    config::Config insecure = lab_config();
    insecure.events.allow_insecure = true;
    config::Config closed_to_http = lab_config();
    closed_to_http.events.allow_private = true;

    Lab http(GetParam(), insecure);
    EXPECT_NO_THROW(http.create("acme", {"*"}, "http://hooks.example.com/"));
    EXPECT_EQ(
        http.error("create", "acme", hook("http://10.0.0.1/")).code(), ErrorCode::InvalidInput
    );

    Lab inside(GetParam(), closed_to_http);
    EXPECT_NO_THROW(inside.create("acme", {"*"}, "https://10.0.0.1/"));
    EXPECT_EQ(
        inside.error("create", "acme", hook("http://10.0.0.1/")).code(), ErrorCode::InvalidInput
    );
}

TEST_P(Webhooks, W89_UpdateChecksLikeCreate) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});

    const Json changed = lab.call(
        "update",
        "acme",
        {{"webhookId", id},
         {"url", "https://new.example/"},
         {"events", {"node.lost"}},
         {"description", "two"}}
    );
    const Json cleared = lab.call("update", "acme", {{"webhookId", id}, {"description", nullptr}});

    EXPECT_EQ(changed["url"], "https://new.example/");
    EXPECT_EQ(changed["events"], Json({"node.lost"}));
    EXPECT_EQ(changed["description"], "two");
    EXPECT_FALSE(cleared.contains("description"));
    EXPECT_EQ(lab.error("update", "acme", {{"webhookId", id}}).code(), ErrorCode::InvalidInput);
    EXPECT_EQ(
        lab.error("update", "acme", {{"webhookId", id}, {"url", "http://x.example/"}}).code(),
        ErrorCode::InvalidInput
    );
    EXPECT_EQ(
        lab.error("update", "acme", {{"webhookId", id}, {"events", {"nodes.*"}}}).code(),
        ErrorCode::InvalidInput
    );
    EXPECT_EQ(
        lab.error("update", "acme", {{"webhookId", id}, {"events", Json::array()}}).code(),
        ErrorCode::InvalidInput
    );
}

TEST_P(Webhooks, W103_AWebhookOfAnotherTenantIsNotFound) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    const std::string unknown = "whk_01k5y3v0m6y8x7w5t4s3r2p1n0";
    const std::vector<std::pair<std::string, Json>> calls = {
        {"get", Json::object()},
        {"update", {{"description", "x"}}},
        {"delete", Json::object()},
        {"ping", Json::object()},
        {"rotateSecret", Json::object()},
        {"deliveries", Json::object()},
    };
    for (const auto& [method, extra] : calls) {
        Json input = extra;
        input["webhookId"] = id;
        const ComputeError foreign = lab.error(method, "rival", input);
        input["webhookId"] = unknown;
        const ComputeError missing = lab.error(method, "rival", input);

        EXPECT_EQ(foreign.code(), ErrorCode::NotFound) << method;
        EXPECT_EQ(foreign.message(), missing.message()) << method;
    }
    EXPECT_NO_THROW(lab.call("get", "acme", {{"webhookId", id}}));
}

TEST_P(Webhooks, W104_W105_ADeliveryHasExactlyItsFields) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    const std::string event = lab.queue("acme");

    const Json pending = lab.only_delivery("acme");
    lab.process.deliver();
    const Json delivered = lab.only_delivery("acme");

    const std::set<std::string> base = {
        "id", "webhookId", "tenantId", "eventId", "eventType", "state", "attempts", "createdAt"};
    std::set<std::string> expected = base;
    expected.insert("nextAttemptAt");
    EXPECT_EQ(keys(pending), expected);
    expected = base;
    expected.insert({"lastStatus", "deliveredAt"});
    EXPECT_EQ(keys(delivered), expected);
    EXPECT_THAT(
        pending["id"].get<std::string>(), ::testing::MatchesRegex("dlv_[0-9a-hjkmnp-tv-z]{26}")
    );
    EXPECT_EQ(pending["eventId"], event);
    for (const char* time : {"createdAt", "deliveredAt"}) {
        EXPECT_TRUE(delivered[time].is_number_integer()) << time;
        EXPECT_EQ(delivered[time], lab.plane.clock.now_ms()) << time;
    }
}

}  // namespace
}  // namespace compute::events
