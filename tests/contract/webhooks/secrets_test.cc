// Signing secrets: rotation, sealing, and the deployment secret behind them.
#include "modules/events/signing.h"

#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_P(Webhooks, W94_RotateAnswersANewSecretOnce) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});

    const Json rotated = lab.call("rotateSecret", "acme", {{"webhookId", id}});

    EXPECT_NE(rotated["secret"], lab.secrets[id]);
    EXPECT_THAT(rotated["secret"].get<std::string>(), StartsWith("whsec_"));
    EXPECT_EQ(
        lab.call("get", "acme", {{"webhookId", id}})
            .dump()
            .find(rotated["secret"].get<std::string>()),
        std::string::npos
    );
}

TEST_P(Webhooks, W96_PreviousSecretExpiresAtIsOnTheWebhook) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});

    const Json rotated =
        lab.call("rotateSecret", "acme", {{"webhookId", id}, {"keepPreviousSeconds", 3600}});

    EXPECT_EQ(rotated["webhook"]["previousSecretExpiresAt"], lab.plane.clock.now_ms() + 3'600'000);
    EXPECT_EQ(
        lab.call("get", "acme", {{"webhookId", id}})["previousSecretExpiresAt"],
        lab.plane.clock.now_ms() + 3'600'000
    );
    lab.plane.clock.advance(std::chrono::seconds(3600));
    EXPECT_FALSE(lab.call("get", "acme", {{"webhookId", id}}).contains("previousSecretExpiresAt"));
    for (const Json& bad : {Json(-1), Json(86'401), Json(1.5), Json("5")}) {
        EXPECT_THAT(
            lab.error(
                   "rotateSecret", "acme", {{"webhookId", id}, {"keepPreviousSeconds", bad}}
            ).message(),
            StartsWith("keepPreviousSeconds: ")
        );
    }
}

TEST_P(Webhooks, W100_SecretsAreSealedAtRest) {
    Lab lab(GetParam());
    const std::string first = lab.create("acme", {"*"});
    lab.create("acme", {"*"});

    const auto rows = lab.plane.database().query("select secret from webhooks order by num");

    EXPECT_THAT(rows.at(0).get_text(0), StartsWith("v1."));
    EXPECT_EQ(rows.at(0).get_text(0).find(lab.secrets[first]), std::string::npos);
    EXPECT_NE(rows.at(0).get_text(0).substr(3, 16), rows.at(1).get_text(0).substr(3, 16));
}

TEST_P(Webhooks, W95_W97_W98_W99_RotationSignsWithBothWhileItLasts) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    const std::string first = lab.secrets[id];
    lab.queue("acme");
    lab.process.answer = [](const Sent&) { return answered(500); };
    const auto attempt = [&] {
        lab.process.sent.clear();
        lab.process.deliver();
        lab.plane.clock.advance(hours(1));
        return lab.process.sent.at(0);
    };
    const auto signature_of = [](const Sent& sent, const std::string& secret) {
        return "v1=" +
               webhook_signature(
                   crypto::Secret(secret), sent.headers.at("x-better-compute-timestamp"), sent.body
               );
    };
    attempt();

    const std::string second = lab.call(
        "rotateSecret", "acme", {{"webhookId", id}, {"keepPreviousSeconds", 7200}}
    )["secret"];
    Sent sent = attempt();
    EXPECT_EQ(
        sent.headers.at("x-better-compute-signature"),
        signature_of(sent, second) + "," + signature_of(sent, first)
    );

    // Again inside the window: one previous slot.
    const std::string third = lab.call(
        "rotateSecret", "acme", {{"webhookId", id}, {"keepPreviousSeconds", 3600}}
    )["secret"];
    sent = attempt();
    EXPECT_EQ(
        sent.headers.at("x-better-compute-signature"),
        signature_of(sent, third) + "," + signature_of(sent, second)
    );

    lab.plane.clock.advance(hours(2));
    sent = attempt();
    EXPECT_EQ(sent.headers.at("x-better-compute-signature"), signature_of(sent, third));

    lab.plane.clock.advance(hours(6));
    const std::string fourth = lab.call("rotateSecret", "acme", {{"webhookId", id}})["secret"];
    sent = attempt();
    EXPECT_EQ(sent.headers.at("x-better-compute-signature"), signature_of(sent, fourth));

    lab.plane.clock.advance(hours(12));
    const std::string fifth = lab.call(
        "rotateSecret", "acme", {{"webhookId", id}, {"keepPreviousSeconds", 0}}
    )["secret"];
    sent = attempt();
    EXPECT_EQ(sent.headers.at("x-better-compute-signature"), signature_of(sent, fifth));
}

TEST_P(Webhooks, W101_ASealIsBoundToItsWebhook) {
    Lab lab(GetParam());
    lab.create("acme", {"node.lost"});
    lab.create("acme", {"reservation.*"});
    lab.plane.database().execute(
        "update webhooks set secret = (select w.secret from webhooks w where w.num = (select "
        "max(num) from webhooks))"
    );
    lab.queue("acme", "node.lost");

    lab.process.deliver();

    EXPECT_TRUE(lab.process.sent.empty());
    EXPECT_THAT(lab.only_delivery("acme")["lastError"].get<std::string>(), HasSubstr("secret"));
    EXPECT_EQ(lab.only_delivery("acme")["attempts"], 0);
}

TEST_P(Webhooks, W102_APreviousDeploymentSecretOpensOldRows) {
    Lab lab(GetParam());
    const std::string id = lab.create("acme", {"*"});
    const crypto::Secret old_secret = lab.plane.config.secret;
    lab.queue("acme");
    lab.plane.config.secret = crypto::Secret("another-deployment-secret-for-tests-2");

    Process without(lab.plane);
    without.deliver();
    EXPECT_TRUE(without.sent.empty());
    EXPECT_THAT(lab.only_delivery("acme")["lastError"].get<std::string>(), HasSubstr("secret"));
    const auto findings = lab.check("events.unreadable-secrets");
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].severity, method::Severity::Error);

    lab.plane.config.previous_secrets = {old_secret};
    lab.plane.clock.advance(seconds(60));
    Process with(lab.plane);
    with.deliver();
    ASSERT_THAT(with.sent, SizeIs(1));
    EXPECT_EQ(
        with.sent[0].headers.at("x-better-compute-signature"),
        "v1=" + webhook_signature(
                    crypto::Secret(lab.secrets[id]),
                    with.sent[0].headers.at("x-better-compute-timestamp"),
                    with.sent[0].body
                )
    );
    EXPECT_THAT(lab.check("events.unreadable-secrets"), SizeIs(0));
    EXPECT_THAT(lab.check("events.secret-rotation-pending"), SizeIs(1));
}

}  // namespace
}  // namespace compute::events
