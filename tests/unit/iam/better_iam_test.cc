#include "iam/better_iam/better_iam.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_better_iam.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/iam/local_plane.h"

namespace compute::iam::better_iam {
namespace {

using iam::local::code_of;
using iam::local::question;
using std::chrono::milliseconds;
using support::FakeBetterIam;
using support::RawConnection;

struct RemotePlane {
    explicit RemotePlane(store::Engine engine) : db(engine) {
        write_key("service-key\n");
        iam.emplace(db.database(), clock, rng, options());
    }
    void write_key(const std::string& key) const { std::ofstream(folder.path() + "/key") << key; }
    [[nodiscard]] BetterIamOptions options() const {
        BetterIamOptions out;
        out.url = remote.url();
        out.service_key_file = folder.path() + "/key";
        out.connect_ms = 500;
        out.total_ms = 500;
        return out;
    }
    Session session(const std::string& credential) {
        return {iam->authenticate(crypto::Secret(credential)), crypto::Secret(credential)};
    }
    void project(
        const std::string& id, Json attributes, std::shared_ptr<const Json> pending = nullptr
    ) {
        const ProjectionRow row{
            {"pool", id},
            TenantId("acme"),
            std::make_shared<const Json>(std::move(attributes)),
            "alice",
            std::move(pending)};
        db.database().write([&](store::Transaction& tx) {
            upsert_projection(tx, row, clock.now_ms());
        });
    }

    support::FakeClock clock;
    support::SeededRng rng;
    support::TempFolder folder;
    support::TestDatabase db;
    FakeBetterIam remote;
    std::optional<BetterIam> iam;
};

class Remote : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, Remote, support::both_engines(), support::engine_name);

const Question kRead = question("acme", "compute:pools:read", "compute-pool", "p1");

TEST_P(Remote, TheCallerIsWhoTheRemoteSays) {
    RemotePlane plane(GetParam());

    const Caller user = plane.session("user:acme").caller;
    const Caller agent = plane.session("agent:acme").caller;

    EXPECT_EQ(user.tenant_id.str(), "acme");
    EXPECT_EQ(user.identity_id.str(), "id-user:acme");
    EXPECT_FALSE(user.is_delegated());
    EXPECT_TRUE(agent.is_delegated());
    EXPECT_EQ(code_of([&] { (void)plane.session("nobody"); }), ErrorCode::Unauthenticated);
    EXPECT_EQ(
        code_of([&] { (void)plane.session("user:acme\r\nX: y"); }), ErrorCode::Unauthenticated
    );
}

TEST_P(Remote, ADecisionIsTheRemotesOwn) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    plane.remote.set_rule([](const Json& asked, const Json&) {
        return asked["action"] == "compute:pools:read";
    });
    Question remove = kRead;
    remove.action = "compute:pools:delete";

    EXPECT_TRUE(plane.iam->authorize(user, kRead).is_allowed);
    EXPECT_FALSE(plane.iam->require(user, remove).is_allowed);

    const Json asked = Json::parse(plane.remote.requests("authorize").back().body);
    EXPECT_EQ(
        asked,
        Json::parse(
            R"({"tenantId":"acme","action":"compute:pools:delete","resource":{"type":"compute-pool","id":"p1"}})"
        )
    );
}

TEST_P(Remote, ASessionThatIsGoneIsUnauthenticatedEverywhere) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    plane.remote.forget_credential("user:acme");

    EXPECT_EQ(code_of([&] { (void)plane.session("user:acme"); }), ErrorCode::Unauthenticated);
    EXPECT_EQ(
        code_of([&] { (void)plane.iam->authorize(user, kRead); }), ErrorCode::Unauthenticated
    );
    EXPECT_EQ(code_of([&] { (void)plane.iam->require(user, kRead); }), ErrorCode::Unauthenticated);
    EXPECT_EQ(
        code_of([&] { (void)plane.iam->request_confirmation(user, kRead, "r", "h"); }),
        ErrorCode::Unauthenticated
    );
    EXPECT_EQ(
        code_of([&] { (void)plane.iam->billing_check(user, TenantId("acme"), 1); }),
        ErrorCode::Unauthenticated
    );
}

TEST_P(Remote, WhateverIsNoWholeAnswerIsNoAllowAndRecoveryNeedsNoRestart) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    const auto code = [&] { return code_of([&] { (void)plane.iam->authorize(user, kRead); }); };
    const support::Script scripts[] = {
        [](RawConnection& c) { c.hang(); },
        [](RawConnection& c) { c.reset(); },
        [](RawConnection& c) { c.close(); },
        [](RawConnection& c) {
            c.send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"allowed\":true");
            c.close();
        },
        [](RawConnection& c) {
            c.drip(
                "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"allowed\":true}", milliseconds(50)
            );
        },
        [](RawConnection& c) {
            c.send("HTTP/1.1 200 OK\r\n\r\n");
            c.flood(std::string(4096, 'x'));
        },
        [](RawConnection& c) {
            c.send("nonsense\r\n\r\n");
            c.close();
        },
    };
    for (const auto& script : scripts) {
        plane.remote.misbehave("authorize", script);
        EXPECT_EQ(code(), ErrorCode::IamUnavailable);
    }
    struct Bad {
        int status;
        const char* body;
    };
    constexpr Bad kBad[] = {
        {200, "<html>hello</html>"},
        {200, "{}"},
        {200, R"({"allowed":"true"})"},
        {200, R"({"allowed":1})"},
        {200, R"([{"allowed":true}])"},
        {200, R"({"allowed":false,"allowed":true})"},
        {204, ""},
        {201, R"({"allowed":true})"},
        {302, R"({"allowed":true})"},
        {421, R"({"allowed":true})"},
        {500, "<html>oops</html>"},
        {502, R"({"allowed":true})"},
        {503, ""}};
    for (const Bad& bad : kBad) {
        plane.remote.answer_with("authorize", bad.status, bad.body);
        EXPECT_EQ(code(), ErrorCode::IamUnavailable) << bad.status << " " << bad.body;
    }

    plane.remote.behave("authorize");
    EXPECT_TRUE(plane.iam->authorize(user, kRead).is_allowed);
}

TEST_P(Remote, RefusalsAndHtmlErrorsOfTheFourHundredsAreRefusals) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    for (const int status : {400, 403, 404, 409}) {
        plane.remote.answer_with(
            "authorize", status, status == 403 ? "<html>no</html>" : R"({"allowed":true})"
        );
        EXPECT_FALSE(plane.iam->authorize(user, kRead).is_allowed) << status;
    }
}

TEST_P(Remote, AskedTooOftenIsRateLimitedWithItsDelay) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    plane.remote.answer_with(
        "authorize", 429, R"({"error":{"code":"RATE_LIMITED","message":"m","retryAfterMs":700}})"
    );

    try {
        (void)plane.iam->authorize(user, kRead);
        FAIL() << "no error";
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::RateLimited);
        EXPECT_EQ(retry_after_ms(error), 700);
    }
}

TEST_P(Remote, AProjectionRowIsMirroredBeforeItIsDecidedOn) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    plane.remote.set_rule([](const Json&, const Json& attributes) {
        return attributes.is_object() && attributes["gpus"] == 8;
    });

    plane.project("p1", Json{{"gpus", 8}});
    EXPECT_TRUE(plane.iam->require(user, kRead).is_allowed);
    EXPECT_EQ(
        *plane.remote.registered("compute-pool", "p1"),
        Json::parse(
            R"({"tenantId":"acme","type":"compute-pool","id":"p1","attributes":{"gpus":8},"ownerId":"alice"})"
        )
    );
    EXPECT_EQ(
        plane.remote.requests("resources/register").front().header("authorization"),
        "Bearer service-key"
    );

    plane.project("p1", Json{{"gpus", 8}}, std::make_shared<const Json>(Json{{"gpus", 16}}));
    EXPECT_FALSE(plane.iam->require(user, kRead).is_allowed);
    plane.project("p1", Json{{"gpus", 8}});
    EXPECT_TRUE(plane.iam->require(user, kRead).is_allowed);

    const auto sent = plane.remote.requests("resources/update").size();
    EXPECT_TRUE(plane.iam->require(user, kRead).is_allowed);
    EXPECT_EQ(plane.remote.requests("resources/update").size(), sent);
}

TEST_P(Remote, ADecisionOnARowThatCannotBeMirroredIsUnavailable) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    plane.project("p1", Json{{"gpus", 8}});
    plane.remote.answer_with("resources/register", 500, "");

    EXPECT_EQ(
        code_of([&] {
            plane.iam->sync_resource({"compute-pool", "p1"}, TenantId("acme"));
        }),
        ErrorCode::IamUnavailable
    );
    EXPECT_EQ(code_of([&] { (void)plane.iam->require(user, kRead); }), ErrorCode::IamUnavailable);
    EXPECT_TRUE(plane.remote.requests("authorize").empty());

    plane.remote.behave("resources/register");
    EXPECT_TRUE(plane.iam->require(user, kRead).is_allowed);
}

TEST_P(Remote, ARowThatAnotherProcessIsSendingIsWaitedForTwoSeconds) {
    RemotePlane plane(GetParam());
    plane.project("p1", Json{{"gpus", 8}});
    plane.db.database().execute(
        "insert into iam_mirror (type, id, version, lease_token, lease_until) values ('pool', "
        "'p1', 0, 'other', $1)",
        {plane.clock.now_ms() + 10'000}
    );
    const auto started = plane.clock.steady_ms();

    EXPECT_EQ(
        code_of([&] {
            plane.iam->sync_resource({"compute-pool", "p1"}, TenantId("acme"));
        }),
        ErrorCode::IamUnavailable
    );

    EXPECT_EQ(plane.clock.steady_ms() - started, 2'000);
    EXPECT_TRUE(plane.remote.requests("resources/register").empty());
}

TEST_P(Remote, TheReconcilerMirrorsWhatWaitsAndFindsNothingMore) {
    RemotePlane plane(GetParam());
    for (int i = 0; i < 5; ++i) {
        plane.project("p" + std::to_string(i), Json{{"n", i}});
    }

    EXPECT_EQ(plane.iam->mirror_waiting(3), 3);
    EXPECT_EQ(plane.iam->mirror_waiting(3), 2);
    EXPECT_EQ(plane.iam->mirror_waiting(3), 0);
    plane.project("p2", Json{{"n", 22}});
    EXPECT_EQ(plane.iam->mirror_waiting(3), 1);
    EXPECT_EQ((*plane.remote.registered("compute-pool", "p2"))["attributes"]["n"], 22);
}

TEST_P(Remote, ARotatedServiceKeyIsReadAnewAndItsRefusalIsNobodysSession) {
    RemotePlane plane(GetParam());
    plane.project("p1", Json{{"gpus", 8}});
    plane.remote.set_service_key("new-key");
    EXPECT_EQ(
        code_of([&] {
            plane.iam->sync_resource({"compute-pool", "p1"}, TenantId("acme"));
        }),
        ErrorCode::IamUnavailable
    );

    plane.write_key("new-key");

    EXPECT_EQ(
        code_of([&] {
            plane.iam->sync_resource({"compute-pool", "p1"}, TenantId("acme"));
        }),
        std::nullopt
    );
}

TEST_P(Remote, AHeldActionOpensAConfirmationWithTheCallersToken) {
    RemotePlane plane(GetParam());
    const Session agent = plane.session("agent:acme");
    EXPECT_FALSE(plane.iam->request_confirmation(agent, kRead, "delete p1", "h"));
    plane.remote.set_held(true);

    const auto confirmation = plane.iam->request_confirmation(agent, kRead, "delete p1", "h");

    ASSERT_TRUE(confirmation);
    EXPECT_EQ(confirmation->id, "cnf-1");
    EXPECT_EQ(confirmation->expires_at, 1'790'245'802'000);
    const auto asked = plane.remote.requests("delegations/requestConfirmation").back();
    EXPECT_EQ(asked.header("authorization"), "Bearer agent:acme");
    EXPECT_EQ(Json::parse(asked.body)["reason"], "delete p1");
}

TEST_P(Remote, AskedTooOftenTheKnownConfirmationServesUntilItExpires) {
    RemotePlane plane(GetParam());
    const Session agent = plane.session("agent:acme");
    plane.remote.set_held(true);
    const auto first = plane.iam->request_confirmation(agent, kRead, "r", "h");
    plane.remote.answer_with("delegations/requestConfirmation", 429, "slow down");

    BetterIam restarted(plane.db.database(), plane.clock, plane.rng, plane.options());
    EXPECT_EQ(restarted.request_confirmation(agent, kRead, "r", "h")->id, first->id);
    EXPECT_EQ(
        code_of([&] { (void)restarted.request_confirmation(agent, kRead, "r", "other"); }),
        ErrorCode::RateLimited
    );

    plane.clock.set(*first->expires_at);
    EXPECT_EQ(
        code_of([&] { (void)restarted.request_confirmation(agent, kRead, "r", "h"); }),
        ErrorCode::RateLimited
    );
}

TEST_P(Remote, ABudgetIsTheRemotesVerdict) {
    RemotePlane plane(GetParam());
    const Session user = plane.session("user:acme");
    EXPECT_TRUE(plane.iam->billing_check(user, TenantId("acme"), 5).is_allowed);

    plane.remote.set_budget(Json{{"allowed", false}, {"blockedBy", "monthly"}});

    const BillingVerdict verdict = plane.iam->billing_check(user, TenantId("acme"), 5);
    EXPECT_FALSE(verdict.is_allowed);
    EXPECT_EQ(verdict.blocked_by, "monthly");
}

TEST_P(Remote, WithoutAServiceKeyItDoesNotStart) {
    RemotePlane plane(GetParam());
    BetterIamOptions options = plane.options();
    options.service_key_file = plane.folder.path() + "/none";

    EXPECT_EQ(
        code_of([&] { BetterIam iam(plane.db.database(), plane.clock, plane.rng, options); }),
        ErrorCode::InvalidConfig
    );
}

}  // namespace
}  // namespace compute::iam::better_iam
