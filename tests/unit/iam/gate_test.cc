#include "iam/gate.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/crypto.h"

#include "tests/support/fake_clock.h"

namespace compute::iam {
namespace {

using std::chrono::milliseconds;
using support::FakeClock;

// Answers as told and counts what it is asked.
class ScriptedPort final : public IamPort {
public:
    Caller authenticate(const crypto::Secret& credential) override {
        ++authenticates;
        refuse_when_gone();
        Caller caller;
        caller.identity_id = IdentityId("usr_" + std::string(credential.reveal()));
        caller.tenant_id = TenantId("acme");
        caller.session_id = SessionId("ses_" + std::string(credential.reveal()));
        caller.expires_at = expires_at;
        return caller;
    }
    Decision authorize(const Session& /*session*/, const Question& /*question*/) override {
        ++authorizes;
        refuse_when_gone();
        if (during_authorize) {
            during_authorize();
        }
        return {is_allowed, "scripted"};
    }
    Decision require(const Session& /*session*/, const Question& /*question*/) override {
        ++requires_;
        refuse_when_gone();
        return {is_allowed, "scripted"};
    }
    std::optional<Confirmation> request_confirmation(
        const Session& /*session*/,
        const Question& /*question*/,
        std::string_view /*reason*/,
        std::string_view /*hash*/
    ) override {
        return std::nullopt;
    }
    BillingVerdict
    billing_check(const Session& /*session*/, const TenantId& /*tenant*/, double /*hours*/)
        override {
        return {true, std::nullopt};
    }
    void sync_resource(const ResourceRef& /*resource*/, const TenantId& /*tenant*/) override {}

    int authenticates = 0;
    int authorizes = 0;
    int requires_ = 0;
    bool is_allowed = true;
    bool is_gone = false;
    std::optional<EpochMs> expires_at;
    std::function<void()> during_authorize;

private:
    void refuse_when_gone() const {
        if (is_gone) {
            throw ComputeError(ErrorCode::Unauthenticated, "the session is gone");
        }
    }
};

struct GatePlane {
    explicit GatePlane(GateOptions options = {}) : gate(port, clock, options) {}
    Session session(const std::string& token) { return gate.authenticate(crypto::Secret(token)); }

    FakeClock clock;
    ScriptedPort port;
    Gate gate;
};

Question read_of(const std::string& pool) {
    return {TenantId("acme"), "compute:pools:read", {"compute-pool", pool}, std::nullopt};
}

TEST(Gate, AnAuthenticationIsKeptJustUnderThirtySeconds) {
    GatePlane plane;

    (void)plane.session("a");
    plane.clock.advance(milliseconds(29'900));
    (void)plane.session("a");
    EXPECT_EQ(plane.port.authenticates, 1);

    plane.clock.advance(milliseconds(200));
    (void)plane.session("a");
    EXPECT_EQ(plane.port.authenticates, 2);
}

TEST(Gate, UseDoesNotLengthenAnEntry) {
    GatePlane plane;

    for (int i = 0; i < 4; ++i) {
        (void)plane.session("a");
        plane.clock.advance(milliseconds(10'000));
    }

    EXPECT_EQ(plane.port.authenticates, 2);
}

TEST(Gate, M19_EachCredentialHasItsOwnEntryUnderItsHash) {
    GatePlane plane;

    const Session a = plane.session("a");
    const Session b = plane.session("b");

    EXPECT_EQ(plane.port.authenticates, 2);
    EXPECT_EQ(a.caller.identity_id.str(), "usr_a");
    EXPECT_EQ(b.caller.identity_id.str(), "usr_b");
    EXPECT_TRUE(plane.gate.caches_credential_as_for_test(crypto::sha256("a")));
    EXPECT_FALSE(plane.gate.caches_credential_as_for_test("a"));
}

TEST(Gate, AFailedAuthenticationIsAskedAgain) {
    GatePlane plane;
    plane.port.is_gone = true;

    EXPECT_THROW((void)plane.session("a"), ComputeError);
    EXPECT_THROW((void)plane.session("a"), ComputeError);

    EXPECT_EQ(plane.port.authenticates, 2);
}

TEST(Gate, AnEntryNeverOutlivesItsCredential) {
    GatePlane plane;
    plane.port.expires_at = plane.clock.now_ms() + 5'000;

    (void)plane.session("a");
    plane.clock.advance(milliseconds(4'999));
    const Session session = plane.session("a");
    (void)plane.gate.decide_read(session, read_of("p1"));
    EXPECT_EQ(plane.port.authenticates, 1);

    plane.clock.advance(milliseconds(1));
    (void)plane.session("a");
    (void)plane.gate.decide_read(session, read_of("p1"));
    EXPECT_EQ(plane.port.authenticates, 2);
    EXPECT_EQ(plane.port.authorizes, 2);
}

TEST(Gate, AnAllowedReadIsKeptJustUnderTenSeconds) {
    GatePlane plane;
    const Session session = plane.session("a");

    (void)plane.gate.decide_read(session, read_of("p1"));
    plane.clock.advance(milliseconds(9'900));
    EXPECT_TRUE(plane.gate.decide_read(session, read_of("p1")).is_allowed);
    EXPECT_EQ(plane.port.authorizes, 1);

    plane.clock.advance(milliseconds(200));
    (void)plane.gate.decide_read(session, read_of("p1"));
    EXPECT_EQ(plane.port.authorizes, 2);
    EXPECT_EQ(plane.port.requires_, 0);
}

TEST(Gate, AnotherSessionResourceActionTenantOrAddressIsAskedOnItsOwn) {
    GatePlane plane;
    const Session a = plane.session("a");
    const Session b = plane.session("b");
    Question other_action = read_of("p1");
    other_action.action = "compute:pools:list";
    Question other_tenant = read_of("p1");
    other_tenant.tenant_id = TenantId("globex");
    Question other_address = read_of("p1");
    other_address.source_ip = "192.0.2.1";

    (void)plane.gate.decide_read(a, read_of("p1"));
    (void)plane.gate.decide_read(b, read_of("p1"));
    (void)plane.gate.decide_read(a, read_of("p2"));
    (void)plane.gate.decide_read(a, other_action);
    (void)plane.gate.decide_read(a, other_tenant);
    (void)plane.gate.decide_read(a, other_address);

    EXPECT_EQ(plane.port.authorizes, 6);
}

TEST(Gate, ADeniedReadIsAskedEveryTime) {
    GatePlane plane;
    const Session session = plane.session("a");
    plane.port.is_allowed = false;

    EXPECT_FALSE(plane.gate.decide_read(session, read_of("p1")).is_allowed);
    EXPECT_FALSE(plane.gate.decide_read(session, read_of("p1")).is_allowed);

    EXPECT_EQ(plane.port.authorizes, 2);
}

TEST(Gate, MutationsAreAskedEveryTime) {
    GatePlane plane;
    const Session session = plane.session("a");

    (void)plane.gate.decide_mutation(session, read_of("p1"));
    (void)plane.gate.decide_mutation(session, read_of("p1"));

    EXPECT_EQ(plane.port.requires_, 2);
    EXPECT_EQ(plane.port.authorizes, 0);
}

TEST(Gate, AnUnauthenticatedDecisionDropsWhatIsCachedOfTheSession) {
    GatePlane plane;
    const Session session = plane.session("a");
    const Session other = plane.session("b");
    (void)plane.gate.decide_read(session, read_of("p1"));
    (void)plane.gate.decide_read(other, read_of("p1"));

    plane.port.is_gone = true;
    EXPECT_THROW((void)plane.gate.decide_mutation(session, read_of("p1")), ComputeError);
    plane.port.is_gone = false;

    (void)plane.session("a");
    (void)plane.session("b");
    (void)plane.gate.decide_read(session, read_of("p1"));
    (void)plane.gate.decide_read(other, read_of("p1"));
    EXPECT_EQ(plane.port.authenticates, 3);
    EXPECT_EQ(plane.port.authorizes, 3);
}

TEST(Gate, ForgettingReadsTouchesOneSession) {
    GatePlane plane;
    const Session a = plane.session("a");
    const Session b = plane.session("b");
    (void)plane.gate.decide_read(a, read_of("p1"));
    (void)plane.gate.decide_read(b, read_of("p1"));

    plane.gate.forget_reads(a);

    (void)plane.gate.decide_read(a, read_of("p1"));
    (void)plane.gate.decide_read(b, read_of("p1"));
    EXPECT_EQ(plane.port.authorizes, 3);
}

TEST(Gate, AnAllowAskedBeforeAForgetIsNotKeptAfterIt) {
    GatePlane plane;
    const Session session = plane.session("a");
    plane.port.during_authorize = [&] { plane.gate.forget_reads(session); };

    (void)plane.gate.decide_read(session, read_of("p1"));
    plane.port.during_authorize = nullptr;
    (void)plane.gate.decide_read(session, read_of("p1"));

    EXPECT_EQ(plane.port.authorizes, 2);
}

TEST(Gate, TheOldestEntriesGoFirstWhenFull) {
    GatePlane plane({.max_entries = 2});

    (void)plane.session("a");
    (void)plane.session("b");
    (void)plane.session("c");
    (void)plane.session("c");
    (void)plane.session("b");
    EXPECT_EQ(plane.port.authenticates, 3);

    (void)plane.session("a");
    EXPECT_EQ(plane.port.authenticates, 4);
}

TEST(Gate, ConfigurationCanOnlyShortenTheCaches) {
    GatePlane plane({.auth_cache_ms = 60'000, .read_cache_ms = 0});
    const Session session = plane.session("a");
    plane.clock.advance(milliseconds(kAuthCacheMs));
    (void)plane.session("a");
    (void)plane.gate.decide_read(session, read_of("p1"));
    (void)plane.gate.decide_read(session, read_of("p1"));

    EXPECT_EQ(plane.port.authenticates, 2);
    EXPECT_EQ(plane.port.authorizes, 2);
}

}  // namespace
}  // namespace compute::iam
