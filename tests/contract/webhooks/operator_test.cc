// What operators do from the command line: redeliver many, explain, list, prove, rotate the
// deployment secret.
#include "modules/events/operator/inspect.h"
#include "modules/events/operator/redeliver.h"
#include "modules/events/operator/rotate_secrets.h"

#include "tests/contract/webhooks/lab.h"

namespace compute::events {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::SizeIs;

iam::Caller operator_caller() {
    iam::Caller caller;
    caller.identity_id = IdentityId("os:tester");
    caller.tenant_id = TenantId("root");
    caller.identity_kind = "operator";
    caller.session_kind = "operator";
    return caller;
}

// `count` dead deliveries of the tenant.
void make_dead(Lab& lab, int count, const std::string& tenant = "acme") {
    for (int i = 0; i < count; ++i) {
        lab.emit(tenant, i % 2 == 0 ? "node.lost" : "reservation.placed");
    }
    lab.fan_out();
    lab.process.answer = [](const Sent&) { return answered(410); };
    lab.process.deliver();
    lab.process.answer = [](const Sent&) { return answered(204); };
    lab.process.sent.clear();
}

TEST_P(Webhooks, W78_AJobRedeliversWhatItsFilterMatches) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.create("rival", {"*"});
    make_dead(lab, 10);
    make_dead(lab, 4, "rival");
    RedeliverFilter filter;
    filter.tenant_id = TenantId("acme");
    filter.type_pattern = "node.*";

    EXPECT_EQ(count_matching(lab.plane.database(), filter), 5);
    const RedeliverJob job = create_job(lab.plane.runtime(), operator_caller(), filter);
    const RedeliverJob done =
        run_job(lab.plane.runtime(), operator_caller(), job.id, std::nullopt, {}, {});

    EXPECT_EQ(done.state, JobState::Done);
    EXPECT_EQ(done.redelivered, 5);
    EXPECT_EQ(done.skipped, 0);
    EXPECT_THAT(lab.deliveries("acme", {{"state", "pending"}}), SizeIs(5));
    EXPECT_THAT(lab.deliveries("rival", {{"state", "dead"}}), SizeIs(4));
    lab.process.deliver();
    EXPECT_THAT(lab.process.sent, SizeIs(5));
    EXPECT_EQ(find_job(lab.plane.database(), job.id)->redelivered, 5);
    EXPECT_THAT(list_jobs(lab.plane.database()), SizeIs(1));
}

TEST_P(Webhooks, AJobGoesOnWhereItStoppedAndIsAudited) {
    Lab lab(GetParam());
    const std::string paused = lab.create("acme", {"*"});
    lab.create("acme", {"*"});
    make_dead(lab, 6);
    lab.call("update", "acme", {{"webhookId", paused}, {"active", false}});
    lab.plane.clear();
    const RedeliverJob job = create_job(lab.plane.runtime(), operator_caller(), {});
    const std::size_t audited = lab.plane.audit().size();

    JobStep step = step_job(lab.plane.runtime(), operator_caller(), job.id, 4);
    lab.plane.set_crash([](std::string_view name) { return name == "before commit"; });
    EXPECT_ANY_THROW(step_job(lab.plane.runtime(), operator_caller(), job.id, 4));
    lab.plane.set_crash({});
    std::int64_t skipped = static_cast<std::int64_t>(step.skipped.size());
    while (step.job.state == JobState::Running) {
        step = step_job(lab.plane.runtime(), operator_caller(), job.id, 4);
        skipped += static_cast<std::int64_t>(step.skipped.size());
    }

    EXPECT_EQ(step.job.matched, 12);
    EXPECT_EQ(step.job.redelivered, 6);
    EXPECT_EQ(step.job.skipped, 6);
    EXPECT_EQ(skipped, 6);
    const auto audit = lab.plane.audit();
    ASSERT_GT(audit.size(), audited);
    EXPECT_EQ(audit.back().identity_id, "os:tester");
    EXPECT_EQ(audit.back().method, "webhooks/redeliver");
    EXPECT_EQ(audit.back().admission["jobId"], job.id);
}

TEST_P(Webhooks, AJobHasALimitARateAndAnEnd) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    make_dead(lab, 30);
    RedeliverFilter filter;
    filter.limit = 20;
    const EpochMs start = lab.plane.clock.now_ms();

    const RedeliverJob job = create_job(lab.plane.runtime(), operator_caller(), filter);
    const RedeliverJob done = run_job(lab.plane.runtime(), operator_caller(), job.id, 5, {}, {});

    EXPECT_EQ(done.redelivered, 20);
    EXPECT_EQ(done.state, JobState::Done);
    EXPECT_GE(lab.plane.clock.now_ms() - start, 3'000);

    const RedeliverJob other = create_job(lab.plane.runtime(), operator_caller(), {});
    EXPECT_EQ(cancel_job(lab.plane.runtime(), other.id).state, JobState::Cancelled);
    EXPECT_EQ(step_job(lab.plane.runtime(), operator_caller(), other.id).job.redelivered, 0);
    EXPECT_THROW(
        static_cast<void>(step_job(lab.plane.runtime(), operator_caller(), "rdj_none")),
        ComputeError
    );
    filter.states = {DeliveryState::Pending};
    EXPECT_THROW(check_filter(filter), ComputeError);
}

TEST_P(Webhooks, ExplainTellsADeliveryInFull) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.queue("acme");
    lab.process.answer = [](const Sent&) { return answered(503); };
    lab.process.deliver();
    const std::string id = lab.only_delivery("acme")["id"];

    const auto told =
        explain_delivery(lab.plane.database(), lab.plane.config, id, lab.plane.clock.now_ms());

    ASSERT_TRUE(told);
    EXPECT_EQ((*told)["attempts"].size(), 1U);
    EXPECT_EQ((*told)["attempts"][0]["status"], 503);
    EXPECT_EQ((*told)["attempts"][0]["outcome"], "answered");
    EXPECT_EQ((*told)["attempts"][0]["address"], "93.184.216.34");
    EXPECT_THAT((*told)["next"].get<std::string>(), HasSubstr("attempt 2 of 8"));
    EXPECT_EQ((*told)["story"].size(), 3U);
    EXPECT_FALSE(explain_delivery(lab.plane.database(), lab.plane.config, "dlv_none", 0));
    EXPECT_EQ(find_tenant_of_delivery(lab.plane.database(), id), TenantId("acme"));
}

TEST_P(Webhooks, ListShowsWebhooksWithTheirQueues) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    lab.create("rival", {"*"});
    make_dead(lab, 2);
    lab.queue("acme");

    const auto all = list_webhooks(lab.plane.database(), std::nullopt, lab.plane.clock.now_ms());
    const auto acme =
        list_webhooks(lab.plane.database(), TenantId("acme"), lab.plane.clock.now_ms());

    EXPECT_THAT(all, SizeIs(2));
    ASSERT_THAT(acme, SizeIs(1));
    EXPECT_EQ(acme[0]["dead"], 2);
    EXPECT_EQ(acme[0]["pending"], 1);
    EXPECT_FALSE(acme[0].contains("secret"));
}

TEST_P(Webhooks, ProofFindsAMissingDelivery) {
    Lab lab(GetParam());
    lab.emit("acme", "node.lost");  // before there is a webhook
    lab.create("acme", {"node.*"});
    lab.create("acme", {"*"});
    for (int i = 0; i < 3; ++i) {
        lab.emit("acme", "node.lost");
    }
    const std::string lost = lab.emit("acme", "reservation.placed");
    lab.fan_out();
    const auto prove = [&] {
        return prove_queueing(
            lab.plane.database(), lab.plane.config, 0, TenantId("acme"), lab.plane.clock.now_ms()
        );
    };

    const Proof good = prove();
    EXPECT_TRUE(good.is_ok());
    EXPECT_EQ(good.expected, 7);
    EXPECT_EQ(good.found, 7);

    lab.plane.database().execute(
        "delete from webhook_deliveries where event = (select event from webhook_bodies where "
        "event_id = $1)",
        {lost}
    );
    const Proof bad = prove();
    ASSERT_THAT(bad.gaps, SizeIs(1));
    EXPECT_EQ(bad.gaps[0].event_id, lost);
}

TEST_P(Webhooks, RotatingTheDeploymentSecretSealsAnew) {
    Lab lab(GetParam());
    lab.create("acme", {"*"});
    const std::string id = lab.create("acme", {"*"});
    lab.call("rotateSecret", "acme", {{"webhookId", id}, {"keepPreviousSeconds", 3600}});
    const crypto::Secret old_secret = lab.plane.config.secret;
    lab.plane.config.secret = crypto::Secret("another-deployment-secret-for-tests-2");
    lab.plane.config.previous_secrets = {old_secret};

    EXPECT_EQ(rotate_webhook_secrets(lab.plane.runtime(), operator_caller(), RotateMode::DryRun).remaining, 3);
    const RotateReport report = rotate_webhook_secrets(lab.plane.runtime(), operator_caller(), RotateMode::Reseal);

    EXPECT_EQ(report.resealed, 3);
    EXPECT_EQ(report.remaining, 0);
    lab.plane.config.previous_secrets = {};
    EXPECT_THAT(lab.check("events.unreadable-secrets"), SizeIs(0));
    EXPECT_THAT(lab.check("events.secret-rotation-pending"), SizeIs(0));
}

}  // namespace
}  // namespace compute::events
