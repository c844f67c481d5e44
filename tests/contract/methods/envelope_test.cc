// Rows about how a call runs up to its decision: M2-M4, M13-M27.
#include <chrono>

#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

using std::chrono::milliseconds;

const Json kAcme{{"tenantId", "acme"}};

class Envelope : public Contract {};
COMPUTE_BOTH_ENGINES(Envelope);

Module poke(Method<Plain> method) {
    return lab({entry("things", "poke", std::move(method))});
}

TEST_P(Envelope, M2_TheStepsOfAMutationAndTheirOrder) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_THAT(plane.log(), ElementsAre("auth", "require", "begin", "handler", "audit", "commit"));
}

TEST_P(Envelope, M3_AHandlerCausesNoFurtherDecision) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.decisions(), 1);
}

TEST_P(Envelope, M3_AHandlerThatAsksTheIamInItsTransactionFails) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context& context, Plain&) {
        (void)context.iam().billing_check(*context.session, TenantId("acme"), 1.0);
        return Json();
    };
    LabPlane plane(GetParam(), {poke(method)});

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme).code(),
        ErrorCode::InternalError
    );
    EXPECT_EQ(plane.iam.count("billing"), 0);
    EXPECT_TRUE(plane.messages.mentions("while a transaction is open"));
}

TEST_P(Envelope, M4_ATransactionInsideTheHandlerJoinsTheCallsOwn) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context& context, Plain&) {
        context.sql().transaction([](store::Transaction& tx) { insert_row(tx, "a"); });
        return Json();
    };
    LabPlane plane(GetParam(), {poke(method)});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.count("begin"), 1);
    EXPECT_EQ(plane.count("savepoint"), 1);
    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Envelope, M4_AnOuterTransactionOfItsOwnIsRefused) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context& context, Plain&) {
        context.runtime->database.write([](store::Transaction& tx) { insert_row(tx, "a"); });
        return Json();
    };
    LabPlane plane(GetParam(), {poke(method)});

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme).code(),
        ErrorCode::InvalidState
    );
    EXPECT_EQ(plane.rows(), 0);
}

TEST_P(Envelope, M13_PublicMethodsAreValidatedAndRun) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Public))});

    EXPECT_EQ(plane.call("things/poke", "", Json::object()), Json({{"ok", true}}));

    EXPECT_THAT(plane.iam.calls(), IsEmpty());
    EXPECT_THAT(plane.log(), ElementsAre("begin read", "handler", "end read"));
    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(Envelope, M14_PublicMethodsRefuseBadInput) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Public))});

    EXPECT_EQ(plane.error_of("things/poke", "", {{"x", 1}}).code(), ErrorCode::InvalidInput);
    EXPECT_EQ(plane.count("handler"), 0);
}

TEST_P(Envelope, M15_ACredentialIsPassedAlongOnlyWhenPresented) {
    Method<Plain> method = plain(Kind::Public);
    method.handler = [](Context& context, Plain&) {
        return Json{
            {"seen", context.credential ? std::string(context.credential->reveal()) : "none"},
            {"known", context.caller != nullptr}};
    };
    LabPlane plane(GetParam(), {poke(method)});

    EXPECT_EQ(
        plane.call("things/poke", "", Json::object()), Json({{"seen", "none"}, {"known", false}})
    );
    EXPECT_EQ(
        plane.call("things/poke", "whatever", Json::object()),
        Json({{"seen", "whatever"}, {"known", false}})
    );
    EXPECT_THAT(plane.iam.calls(), IsEmpty());
}

TEST_P(Envelope, M16_WithoutACredentialNobodyIsAsked) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Read))});

    EXPECT_EQ(plane.error_of("things/poke", "", kAcme).code(), ErrorCode::Unauthenticated);
    EXPECT_EQ(plane.error_of("things/poke", "", {{"x", 1}}).code(), ErrorCode::Unauthenticated);

    EXPECT_THAT(plane.iam.calls(), IsEmpty());
    EXPECT_THAT(plane.log(), IsEmpty());
}

TEST_P(Envelope, M17_InputIsValidatedBeforeTheCallerIsAuthenticated) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::admin_of("acme"), {{"x", 1}}).code(),
        ErrorCode::InvalidInput
    );
    EXPECT_EQ(plane.error_of("things/poke", "unknown", {{"x", 1}}).code(), ErrorCode::InvalidInput);

    EXPECT_THAT(plane.iam.calls(), IsEmpty());
}

TEST_P(Envelope, M18_AnUnknownTokenIsUnauthenticated) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Read))});

    EXPECT_EQ(plane.error_of("things/poke", "unknown", kAcme).code(), ErrorCode::Unauthenticated);

    EXPECT_THAT(plane.log(), ElementsAre("auth"));
}

TEST_P(Envelope, M19_AuthenticationIsCachedThirtySeconds) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});
    const auto call = [&](const std::string& credential) {
        plane.call("things/poke", credential, kAcme);
    };

    call("admin:acme");
    plane.clock.advance(milliseconds(29'000));
    call("admin:acme");
    EXPECT_EQ(plane.iam.count("auth"), 1);

    call("admin:acme#bob");
    EXPECT_EQ(plane.iam.count("auth"), 2);

    plane.clock.advance(milliseconds(2'000));
    call("admin:acme");
    EXPECT_EQ(plane.iam.count("auth"), 3);
}

TEST_P(Envelope, M20_AForeignTenantsCallerCostsNothing) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    const auto error = plane.error_of("things/poke", TestPlane::admin_of("b"), {{"tenantId", "a"}});

    EXPECT_EQ(error.code(), ErrorCode::AccessDenied);
    EXPECT_THAT(plane.log(), ElementsAre("auth"));
    EXPECT_EQ(plane.statements(), 0);
}

TEST_P(Envelope, M21_ARootCallerPassesThePreCheck) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    plane.call("things/poke", TestPlane::root(), {{"tenantId", "a"}});

    EXPECT_EQ(plane.iam.calls().at(1).tenant, "a");
}

TEST_P(Envelope, M22_AMutationIsRequiredOnce) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.count("require"), 1);
    EXPECT_EQ(plane.iam.count("authorize"), 0);
}

TEST_P(Envelope, M23_MutationDecisionsAreNeverCached) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);
    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.count("require"), 2);
}

TEST_P(Envelope, M24_AReadIsAuthorizedOnce) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Read))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.count("authorize"), 1);
    EXPECT_EQ(plane.iam.count("require"), 0);
    EXPECT_THAT(plane.log(), ElementsAre("auth", "authorize", "begin read", "handler", "end read"));
}

TEST_P(Envelope, M25_ReadAllowsAreCachedTenSecondsPerSession) {
    LabPlane plane(
        GetParam(),
        {lab(
            {entry("things", "get", plain(Kind::Read)),
             entry("things", "list", plain(Kind::Read, "compute:lab:list"))}
        )}
    );
    const auto asked_by =
        [&](const std::string& path, const std::string& credential, const Json& input) {
            const int before = plane.iam.count("authorize");
            plane.call(path, credential, input);
            return plane.iam.count("authorize") - before;
        };

    EXPECT_EQ(asked_by("things/get", "admin:acme", kAcme), 1);
    plane.clock.advance(milliseconds(9'900));
    EXPECT_EQ(asked_by("things/get", "admin:acme", kAcme), 0);
    EXPECT_EQ(asked_by("things/get", "admin:acme@2", kAcme), 1);
    EXPECT_EQ(asked_by("things/get", "admin:acme", {{"tenantId", "acme"}, {"id", "t-2"}}), 1);
    EXPECT_EQ(asked_by("things/list", "admin:acme", kAcme), 1);
    plane.clock.advance(milliseconds(200));
    EXPECT_EQ(asked_by("things/get", "admin:acme", kAcme), 1);
}

TEST_P(Envelope, M25_AMutationDropsItsSessionsCachedReads) {
    LabPlane plane(
        GetParam(),
        {lab(
            {entry("things", "get", plain(Kind::Read)),
             entry("things", "poke", plain(Kind::Mutation))}
        )}
    );
    plane.call("things/get", TestPlane::admin_of("acme"), kAcme);

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);
    plane.call("things/get", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.count("authorize"), 2);
}

TEST_P(Envelope, M26_ARefusedReadIsAskedAgain) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Read))});
    plane.iam.set_policy([](const auto&, const auto&) { return false; });

    (void)plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme);
    (void)plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.count("authorize"), 2);
}

TEST_P(Envelope, M27_ARefusalOpensNoTransaction) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    const auto error = plane.error_of("things/poke", TestPlane::viewer_of("acme"), kAcme);

    EXPECT_EQ(error.code(), ErrorCode::AccessDenied);
    EXPECT_EQ(plane.transactions_opened(), 0);
    EXPECT_THAT(plane.log(), ElementsAre("auth", "require"));
    EXPECT_EQ(plane.messages.count("call.refused"), 1);
    ASSERT_EQ(plane.denials.all().size(), 1U);
    EXPECT_EQ(plane.denials.all().at(0).resource, (iam::ResourceRef{"compute-thing", "t-1"}));
    EXPECT_EQ(plane.denials.all().at(0).identity_id, "viewer:acme");
}

}  // namespace
}  // namespace compute::contract
