#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iam/local/confirmations.h"

#include "tests/unit/iam/local_plane.h"

namespace compute::iam::local {
namespace {

using std::chrono::milliseconds;

// bot acts for alice under dlg1: pools and reservations, pools:delete held for a person.
struct DelegatedPlane : LocalPlane {
    explicit DelegatedPlane(store::Engine engine) : LocalPlane(engine) {
        apply(kDocument);
        bot = session("acme", "bot", "dlg1");
        held = question("acme", "compute:pools:delete", "compute-pool", "p1");
        held.request_hash = "h1";
    }
    std::optional<Confirmation> ask(const Question& about) {
        return iam.request_confirmation(bot, about, "delete pool p1", about.request_hash);
    }
    void rule(const std::string& id, Ruling ruling) {
        write([&](store::Transaction& tx) {
            rule_confirmation(tx, clock.now_ms(), id, ruling, "os:ops");
        });
    }

    Session bot;
    Question held;
};

class Delegated : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, Delegated, support::both_engines(), support::engine_name);

TEST_P(Delegated, TheSessionIsTheSubjectsAndNamesItsAgent) {
    DelegatedPlane plane(GetParam());

    const Caller& caller = plane.bot.caller;

    EXPECT_EQ(caller.identity_id.str(), "alice");
    EXPECT_EQ(caller.agent_id, "bot");
    EXPECT_EQ(caller.delegation_id, "dlg1");
    EXPECT_EQ(caller.session_kind, "delegated");
    EXPECT_EQ(caller.expires_at, plane.clock.now_ms() + 3'600'000);
}

TEST_P(Delegated, HasTheSubjectsRightsWithinTheScopes) {
    DelegatedPlane plane(GetParam());

    EXPECT_TRUE(
        plane.iam
            .require(plane.bot, question("acme", "compute:pools:create", "compute-tenant", "acme"))
            .is_allowed
    );
    EXPECT_EQ(
        plane.iam
            .require(
                plane.bot, question("acme", "compute:volumes:create", "compute-tenant", "acme")
            )
            .reason,
        "outside the scopes of delegation dlg1"
    );
}

TEST_P(Delegated, WhatTheAgentsOwnPoliciesForbidStaysForbidden) {
    DelegatedPlane plane(GetParam());
    plane.apply(
        R"({"version":1,"policies":[{"tenant":"acme","name":"no-create","document":{"version":1,"statements":[
        {"effect":"deny","actions":["compute:pools:create"],"resources":["*"]}]}}],
        "identities":[{"tenant":"acme","id":"bot","kind":"agent","policies":["no-create"]}]})"
    );

    EXPECT_FALSE(
        plane.iam
            .require(plane.bot, question("acme", "compute:pools:create", "compute-tenant", "acme"))
            .is_allowed
    );
}

TEST_P(Delegated, AHeldActionIsRefusedUntilAPersonApprovesExactlyThatRequest) {
    DelegatedPlane plane(GetParam());
    EXPECT_FALSE(plane.iam.require(plane.bot, plane.held).is_allowed);
    EXPECT_FALSE(plane.iam.authorize(plane.bot, plane.held).is_allowed);
    const auto confirmation = plane.ask(plane.held);
    ASSERT_TRUE(confirmation);
    EXPECT_EQ(confirmation->expires_at, plane.clock.now_ms() + kConfirmationMs);
    EXPECT_FALSE(plane.iam.require(plane.bot, plane.held).is_allowed);

    plane.rule(confirmation->id, Ruling::Approve);

    Question changed = plane.held;
    changed.request_hash = "h2";
    EXPECT_FALSE(plane.iam.require(plane.bot, changed).is_allowed);
    Question unbound = plane.held;
    unbound.request_hash.clear();
    EXPECT_FALSE(plane.iam.require(plane.bot, unbound).is_allowed);
    EXPECT_THAT(
        plane.iam.require(plane.bot, plane.held).reason, ::testing::HasSubstr("confirmed by os:ops")
    );
}

TEST_P(Delegated, AnApprovalIsUsedUpOnce) {
    DelegatedPlane plane(GetParam());
    plane.rule(plane.ask(plane.held)->id, Ruling::Approve);

    EXPECT_TRUE(plane.iam.require(plane.bot, plane.held).is_allowed);
    EXPECT_FALSE(plane.iam.require(plane.bot, plane.held).is_allowed);
}

TEST_P(Delegated, AskingAgainFindsTheConfirmationThatWaits) {
    DelegatedPlane plane(GetParam());

    const auto first = plane.ask(plane.held);
    const auto second = plane.ask(plane.held);

    EXPECT_EQ(first->id, second->id);
}

TEST_P(Delegated, ARefusalStandsUntilTheConfirmationExpires) {
    DelegatedPlane plane(GetParam());
    const auto first = plane.ask(plane.held);
    plane.rule(first->id, Ruling::Deny);

    EXPECT_FALSE(plane.ask(plane.held));
    EXPECT_FALSE(plane.iam.require(plane.bot, plane.held).is_allowed);

    plane.clock.advance(milliseconds(kConfirmationMs - 1));
    EXPECT_EQ(code_of([&] { plane.rule(first->id, Ruling::Approve); }), ErrorCode::InvalidState);
}

TEST_P(Delegated, AnApprovalThatExpiredAdmitsNothing) {
    DelegatedPlane plane(GetParam());
    plane.apply(
        R"({"version":1,"delegations":[{"id":"dlg1","tenant":"acme","agent":"bot","subject":"alice",
        "scopes":["compute:*"],"confirm":["compute:pools:delete"],"maxSeconds":86400}]})"
    );
    plane.bot = plane.session("acme", "bot", "dlg1");
    plane.rule(plane.ask(plane.held)->id, Ruling::Approve);

    plane.clock.advance(milliseconds(kConfirmationMs));

    EXPECT_FALSE(plane.iam.require(plane.bot, plane.held).is_allowed);
    EXPECT_EQ(
        plane
            .write([&](store::Transaction& tx) {
                return list_confirmations(tx, plane.clock.now_ms());
            })
            .at(0)
            .state,
        "expired"
    );
}

TEST_P(Delegated, WhatThePoliciesRefuseIsNotHeld) {
    DelegatedPlane plane(GetParam());

    EXPECT_FALSE(plane.ask(question("acme", "compute:volumes:delete", "compute-volume", "v1")));
    EXPECT_FALSE(plane.ask(question("acme", "compute:pools:create", "compute-tenant", "acme")));
}

TEST_P(Delegated, OnlySoManyConfirmationsWait) {
    DelegatedPlane plane(GetParam());
    for (int i = 0; i < kMaxOpenConfirmations; ++i) {
        plane.held.resource.id = "p" + std::to_string(i);
        ASSERT_TRUE(plane.ask(plane.held));
    }
    plane.held.resource.id = "one-more";

    EXPECT_EQ(code_of([&] { (void)plane.ask(plane.held); }), ErrorCode::RateLimited);
}

TEST_P(Delegated, TheSessionEndsWithMaxSecondsAndWithTheDelegation) {
    DelegatedPlane plane(GetParam());
    plane.apply(
        R"({"version":1,"delegations":[{"id":"dlg1","tenant":"acme","agent":"bot","subject":"bob",
        "scopes":["compute:*"],"confirm":[],"maxSeconds":3600}]})"
    );
    EXPECT_EQ(
        code_of([&] { (void)plane.iam.authenticate(plane.bot.credential); }),
        ErrorCode::Unauthenticated
    );

    const Session fresh = plane.session("acme", "bot", "dlg1");
    plane.clock.advance(milliseconds(3'600'000));
    EXPECT_EQ(
        code_of([&] { (void)plane.iam.authenticate(fresh.credential); }), ErrorCode::Unauthenticated
    );
}

TEST_P(Delegated, NoSessionOutlivesItsSubject) {
    DelegatedPlane plane(GetParam());

    plane.write([](store::Transaction& tx) { switch_identity(tx, "alice", Switch::Disable); });

    EXPECT_EQ(
        code_of([&] { (void)plane.iam.require(plane.bot, plane.held); }), ErrorCode::Unauthenticated
    );
}

}  // namespace
}  // namespace compute::iam::local
