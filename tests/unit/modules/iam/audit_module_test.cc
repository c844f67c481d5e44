#include "modules/iam/audit_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/audit.h"
#include "audit/verify.h"

#include "tests/support/test_plane.h"

namespace compute::iam_methods {
namespace {

using method::Finding;
using method::Severity;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AuditModule : public testing::TestWithParam<store::Engine> {
protected:
    std::string append_row() {
        iam::Caller caller;
        caller.identity_id = IdentityId("ops");
        caller.identity_kind = "user";
        caller.tenant_id = TenantId("acme");
        caller.session_id = SessionId("ses-1");
        caller.session_kind = "token";
        audit::Entry entry;
        entry.caller = &caller;
        entry.tenant_id = TenantId("acme");
        entry.method = "pools/create";
        entry.action = "compute:pools:create";
        entry.resource = {"compute-tenant", "acme"};
        entry.decision_reason = "policy";
        entry.request_id = "req-1";
        return plane_.database().write([&](store::Transaction& tx) {
            return audit::append(tx, entry, plane_.clock, plane_.rng);
        });
    }
    std::vector<Finding> findings() {
        method::CheckContext context{
            plane_.database(),
            plane_.config,
            plane_.clock,
            store::built_in_migrations(),
            plane_.runtime().catalog};
        return audit_module().checks.at(0).run(context);
    }
    audit::Verification verify() {
        const crypto::SecretBox box = audit::make_key_box(plane_.config.secret, {});
        return audit::verify(plane_.database(), &box, {});
    }
    std::int64_t count_rows() {
        return plane_.database().query("select count(*) from audit_events", {})[0].get_int(0);
    }

    support::TestPlane plane_{GetParam(), {audit_module()}};
};
INSTANTIATE_TEST_SUITE_P(Engines, AuditModule, support::both_engines(), support::engine_name);

TEST_P(AuditModule, SealsEveryHour) {
    append_row();
    EXPECT_EQ(plane_.run_reconciler("audit.seal"), std::nullopt);
    append_row();
    plane_.run_reconciler("audit.seal");
    EXPECT_EQ(verify().unsealed, 1);

    plane_.clock.advance(milliseconds(audit::kSealEveryMs));
    plane_.run_reconciler("audit.seal");

    EXPECT_EQ(verify().unsealed, 0);
    EXPECT_EQ(verify().rows, 2);
    EXPECT_TRUE(verify().is_ok());
}

TEST_P(AuditModule, PrunesOnlyWithARetention) {
    append_row();
    plane_.run_reconciler("audit.seal");
    plane_.clock.advance(std::chrono::hours(24 * 400));
    plane_.run_reconciler("audit.prune");
    EXPECT_EQ(count_rows(), 1);

    plane_.config.audit_retention_days = 400;
    plane_.run_reconciler("audit.prune");
    EXPECT_EQ(count_rows(), 1) << "as old as the retention";
    plane_.clock.advance(milliseconds(1));
    plane_.run_reconciler("audit.prune");
    EXPECT_EQ(count_rows(), 0);
    EXPECT_TRUE(verify().is_ok());
}

TEST_P(AuditModule, TheCheckIsSilentUntilRowsWaitTooLong) {
    EXPECT_THAT(findings(), IsEmpty());
    append_row();
    plane_.clock.advance(milliseconds(kSealLagMs));
    EXPECT_THAT(findings(), IsEmpty());

    plane_.clock.advance(milliseconds(1));
    ASSERT_THAT(findings(), SizeIs(1));
    EXPECT_EQ(findings()[0].severity, Severity::Warning);
    EXPECT_THAT(findings()[0].message, HasSubstr("in no checkpoint"));

    plane_.run_reconciler("audit.seal");
    EXPECT_THAT(findings(), IsEmpty());
}

TEST_P(AuditModule, TheCheckSpeaksOfAKeyThatCannotBeOpened) {
    append_row();
    plane_.run_reconciler("audit.seal");
    const crypto::Secret old = plane_.config.secret;
    plane_.config.secret = crypto::Secret("another-deployment-secret-for-tests");

    ASSERT_THAT(findings(), SizeIs(1));
    EXPECT_EQ(findings()[0].severity, Severity::Error);
    EXPECT_THAT(findings()[0].fix, HasSubstr("previous_secrets"));

    plane_.config.previous_secrets = {old};
    ASSERT_THAT(findings(), SizeIs(1));
    EXPECT_EQ(findings()[0].severity, Severity::Warning);
    EXPECT_THAT(findings()[0].fix, HasSubstr("secrets rotate"));

    iam::Caller caller;
    caller.identity_id = IdentityId("os:ops");
    caller.identity_kind = "operator";
    caller.tenant_id = TenantId("root");
    caller.session_id = SessionId("ses-1");
    caller.session_kind = "operator";
    const auto report = rotate_audit_keys(plane_.runtime(), caller, audit::ResealMode::Reseal);
    EXPECT_EQ(report.resealed, 1);
    EXPECT_THAT(findings(), IsEmpty());
    EXPECT_EQ(plane_.audit().back().method, "secrets/rotate");
}

TEST_P(AuditModule, AKeyThatWasReplacedBecauseItsSecretIsLostIsNoError) {
    append_row();
    plane_.run_reconciler("audit.seal");
    plane_.config.secret = crypto::Secret("another-deployment-secret-for-tests");
    with_seal_tools(plane_.runtime(), [&](const audit::SealTools& tools) {
        const audit::NewKey made = audit::make_key(tools.box, tools.clock, tools.rng);
        tools.database.write([&](store::Transaction& tx) { audit::insert_key(tx, made); });
    });

    ASSERT_THAT(findings(), SizeIs(1));
    EXPECT_EQ(findings()[0].severity, Severity::Info);
}

TEST_P(AuditModule, TheCheckSpeaksOfRowsPastTheirRetention) {
    append_row();
    plane_.run_reconciler("audit.seal");
    plane_.config.audit_retention_days = 10;
    plane_.clock.advance(std::chrono::hours(24 * 12));
    EXPECT_THAT(findings(), IsEmpty());

    plane_.clock.advance(milliseconds(1));
    ASSERT_THAT(findings(), SizeIs(1));
    EXPECT_THAT(findings()[0].message, HasSubstr("retention_days"));

    plane_.run_reconciler("audit.prune");
    EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace compute::iam_methods
