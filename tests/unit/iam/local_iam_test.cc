#include "iam/local/local_iam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iam/local/token.h"

#include "tests/unit/iam/local_plane.h"

namespace compute::iam::local {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class LocalIamOn : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, LocalIamOn, support::both_engines(), support::engine_name);

TEST_P(LocalIamOn, KnowsWhoHoldsAToken) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);

    const Caller caller = plane.session("acme", "alice").caller;

    EXPECT_EQ(caller.identity_id.str(), "alice");
    EXPECT_EQ(caller.tenant_id.str(), "acme");
    EXPECT_EQ(caller.identity_kind, "user");
    EXPECT_EQ(caller.session_kind, "token");
    EXPECT_TRUE(caller.session_id.str().starts_with("tok_"));
    EXPECT_FALSE(caller.expires_at);
}

TEST_P(LocalIamOn, AMalformedTokenIsRefusedBeforeTheDatabaseIsAsked) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    std::string token(plane.session("acme", "alice").credential.reveal());
    token.back() = token.back() == 'A' ? 'B' : 'A';
    const auto before = plane.db.database().counters(store::Purpose::Iam).statements;

    const auto code = code_of([&] { (void)plane.iam.authenticate(crypto::Secret(token)); });

    EXPECT_EQ(code, ErrorCode::Unauthenticated);
    EXPECT_EQ(plane.db.database().counters(store::Purpose::Iam).statements, before);
}

TEST_P(LocalIamOn, AnUnknownTokenIsUnauthenticated) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const crypto::Secret stranger = make_token("user", plane.rng);

    EXPECT_EQ(code_of([&] { (void)plane.iam.authenticate(stranger); }), ErrorCode::Unauthenticated);
}

TEST_P(LocalIamOn, DecidesByPoliciesAndRoles) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");
    const Session bob = plane.session("acme", "bob");
    const Question read = question("acme", "compute:pools:read", "compute-pool", "p1");
    const Question create = question("acme", "compute:pools:create", "compute-tenant", "acme");

    EXPECT_EQ(
        plane.iam.authorize(alice, read).reason, "allowed by policy acme/admin, statement 1 (All)"
    );
    EXPECT_TRUE(plane.iam.require(alice, create).is_allowed);
    EXPECT_TRUE(plane.iam.authorize(bob, read).is_allowed);
    EXPECT_EQ(plane.iam.require(bob, create).reason, "no statement allows it");
}

TEST_P(LocalIamOn, ADecisionIsOneStatementOnceTheDocumentsAreCompiled) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");
    const Question read = question("acme", "compute:pools:read", "compute-pool", "p1");
    (void)plane.iam.authorize(alice, read);
    const auto before = plane.db.database().counters(store::Purpose::Iam).statements;

    (void)plane.iam.authorize(alice, read);

    EXPECT_EQ(plane.db.database().counters(store::Purpose::Iam).statements, before + 1);
}

TEST_P(LocalIamOn, PoliciesOfARootIdentityApplyEverywhereOthersAtHome) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session ops = plane.session("root", "ops");
    const Session alice = plane.session("acme", "alice");
    const Question in_globex = question("globex", "compute:pools:read", "compute-pool", "p1");

    EXPECT_TRUE(plane.iam.authorize(ops, in_globex).is_allowed);
    EXPECT_EQ(
        plane.iam.authorize(alice, in_globex).reason, "the identity belongs to another tenant"
    );
}

TEST_P(LocalIamOn, ARevokedTokenIsGoneFromEveryCall) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");
    const Question read = question("acme", "compute:pools:read", "compute-pool", "p1");
    (void)plane.iam.authorize(alice, read);

    plane.write([&](store::Transaction& tx) {
        revoke_tokens(tx, {alice.caller.session_id.str()}, plane.clock.now_ms());
    });

    EXPECT_EQ(
        code_of([&] { (void)plane.iam.authenticate(alice.credential); }), ErrorCode::Unauthenticated
    );
    EXPECT_EQ(code_of([&] { (void)plane.iam.authorize(alice, read); }), ErrorCode::Unauthenticated);
    EXPECT_EQ(code_of([&] { (void)plane.iam.require(alice, read); }), ErrorCode::Unauthenticated);
    EXPECT_EQ(
        code_of([&] { (void)plane.iam.request_confirmation(alice, read, "r", "h"); }),
        ErrorCode::Unauthenticated
    );
    EXPECT_EQ(
        code_of([&] { (void)plane.iam.billing_check(alice, TenantId("acme"), 1); }),
        ErrorCode::Unauthenticated
    );
}

TEST_P(LocalIamOn, AnExpiredTokenIsGone) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    NewToken wanted;
    wanted.tenant_id = "acme";
    wanted.identity_id = "alice";
    wanted.lifetime_ms = 60'000;
    const CreatedToken created = plane.token(wanted);

    plane.clock.advance(milliseconds(59'999));
    EXPECT_EQ(plane.iam.authenticate(created.token).expires_at, created.expires_at);

    plane.clock.advance(milliseconds(1));
    EXPECT_EQ(
        code_of([&] { (void)plane.iam.authenticate(created.token); }), ErrorCode::Unauthenticated
    );
}

TEST_P(LocalIamOn, ADisabledIdentityOrTenantHasNoSessionsUntilEnabledAgain) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");
    const auto answer = [&] {
        return code_of([&] { (void)plane.iam.authenticate(alice.credential); });
    };

    plane.write([](store::Transaction& tx) { switch_identity(tx, "alice", Switch::Disable); });
    EXPECT_EQ(answer(), ErrorCode::Unauthenticated);
    plane.write([](store::Transaction& tx) { switch_identity(tx, "acme/alice", Switch::Enable); });
    EXPECT_EQ(answer(), std::nullopt);
    plane.write([](store::Transaction& tx) { switch_tenant(tx, "acme", Switch::Disable, "root"); });
    EXPECT_EQ(answer(), ErrorCode::Unauthenticated);
}

TEST_P(LocalIamOn, AChangedPolicyCountsFromTheNextDecisionInEveryProcess) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session bob = plane.session("acme", "bob");
    const Question create = question("acme", "compute:pools:create", "compute-tenant", "acme");
    const auto other_handle = plane.db.open();
    LocalIam other(*other_handle, plane.clock, plane.rng);
    EXPECT_FALSE(other.require(bob, create).is_allowed);

    plane.apply(
        R"({"version":1,"roles":[{"tenant":"acme","name":"reader","policies":["read","admin"]}]})"
    );

    EXPECT_TRUE(other.require(bob, create).is_allowed);
    EXPECT_TRUE(plane.iam.require(bob, create).is_allowed);
}

TEST_P(LocalIamOn, AttributesOfTheProjectionAreDecidedOnWithPendingOnesMergedOver) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    plane.apply(
        R"({"version":1,"policies":[{"tenant":"acme","name":"small","document":{"version":1,"statements":[
        {"effect":"allow","actions":["compute:reservations:*"],"resources":["compute-reservation/*"],
         "conditions":{"NumericLessThanEquals":{"resource.gpuCount":8},"StringEquals":{"resource.ownerId":"${principal.id}"}}}]}}],
        "identities":[{"tenant":"acme","id":"bob","kind":"user","policies":["small"]}]})"
    );
    const Session bob = plane.session("acme", "bob");
    const Question create =
        question("acme", "compute:reservations:create", "compute-reservation", "rsv_1");
    ProjectionRow row{
        {"reservation", "rsv_1"},
        TenantId("acme"),
        std::make_shared<const Json>(Json{{"gpuCount", 8}}),
        "bob",
        nullptr};

    plane.project(row);
    EXPECT_TRUE(plane.iam.require(bob, create).is_allowed);

    row.pending = std::make_shared<const Json>(Json{{"gpuCount", 16}});
    plane.project(row);
    EXPECT_FALSE(plane.iam.require(bob, create).is_allowed);

    row.pending = nullptr;
    plane.project(row);
    EXPECT_TRUE(plane.iam.require(bob, create).is_allowed);
}

TEST_P(LocalIamOn, ARowOfAnotherTenantIsNotSeen) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    plane.apply(
        R"({"version":1,"policies":[{"tenant":"acme","name":"seen","document":{"version":1,"statements":[
        {"effect":"allow","actions":["*"],"resources":["*"],"conditions":{"Exists":{"resource.gpuCount":true}}}]}}],
        "identities":[{"tenant":"acme","id":"bob","kind":"user","policies":["seen"]}]})"
    );
    const Session bob = plane.session("acme", "bob");
    plane.project(
        {{"pool", "p1"},
         TenantId("globex"),
         std::make_shared<const Json>(Json{{"gpuCount", 8}}),
         std::nullopt,
         nullptr}
    );

    EXPECT_FALSE(plane.iam
                     .authorize(bob, question("acme", "compute:pools:read", "compute-pool", "p1"))
                     .is_allowed);
}

TEST_P(LocalIamOn, ATenantsBoundaryAndATokensScopeIntersectItsGrants) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Question read = question("acme", "compute:pools:read", "compute-pool", "p1");
    const Question remove = question("acme", "compute:pools:delete", "compute-pool", "p1");
    NewToken wanted;
    wanted.tenant_id = "acme";
    wanted.identity_id = "alice";
    wanted.scope = std::make_shared<const Json>(Json::parse(
        R"({"version":1,"statements":[{"effect":"allow","actions":["compute:pools:*"],"resources":["*"]}]})"
    ));
    const CreatedToken scoped = plane.token(wanted);
    const Session alice{plane.iam.authenticate(scoped.token), scoped.token};
    const Question volumes = question("acme", "compute:volumes:read", "compute-volume", "v1");

    EXPECT_TRUE(plane.iam.authorize(alice, remove).is_allowed);
    EXPECT_EQ(
        plane.iam.authorize(alice, volumes).reason,
        "outside the scope of token " + alice.caller.session_id.str()
    );

    plane.apply(
        R"({"version":1,"boundaries":[{"tenant":"acme","document":{"version":1,"statements":[
        {"effect":"allow","actions":["compute:*:read"],"resources":["*"]}]}}]})"
    );
    EXPECT_TRUE(plane.iam.authorize(alice, read).is_allowed);
    EXPECT_EQ(plane.iam.require(alice, remove).reason, "outside the boundary of tenant acme");
}

TEST_P(LocalIamOn, ExplainNamesEveryStatementAndChangesNothing) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session bob = plane.session("acme", "bob");

    const Explanation told = plane.iam.explain(
        bob.credential, question("acme", "compute:pools:delete", "compute-pool", "p1")
    );

    EXPECT_FALSE(told.verdict.decision.is_allowed);
    ASSERT_EQ(told.steps.size(), 1U);
    EXPECT_EQ(told.steps[0].source, "policy acme/read");
    EXPECT_EQ(told.steps[0].why_not, "its actions do not cover the action");
}

TEST_P(LocalIamOn, ABudgetIsJudgedByWhatWasSpentInItsWindow) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    plane.apply(R"({"version":1,"budgets":[
        {"tenant":"acme","name":"monthly","limitGpuHours":100,"window":"month","enforce":true},
        {"tenant":"acme","name":"watched","limitGpuHours":1,"window":"day","enforce":false}]})");
    const Session alice = plane.session("acme", "alice");
    const auto blocked_by = [&](double hours) {
        return plane.iam.billing_check(alice, TenantId("acme"), hours).blocked_by;
    };
    EXPECT_EQ(blocked_by(100), std::nullopt);
    EXPECT_EQ(blocked_by(100.5), "monthly");

    plane.write([&](store::Transaction& tx) {
        add_usage(tx, TenantId("acme"), plane.clock.now_ms(), 60 * 3'600'000LL);
        add_usage(tx, TenantId("acme"), plane.clock.now_ms(), 10 * 3'600'000LL);
        add_usage(tx, TenantId("globex"), plane.clock.now_ms(), 90 * 3'600'000LL);
    });
    EXPECT_EQ(blocked_by(30), std::nullopt);
    EXPECT_EQ(blocked_by(31), "monthly");

    plane.clock.advance(std::chrono::hours(24 * 31));
    EXPECT_EQ(blocked_by(100), std::nullopt);
}

}  // namespace
}  // namespace compute::iam::local
