#include "iam/local/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iam/denial_log.h"

#include "tests/unit/iam/local_plane.h"

namespace compute::iam::local {
namespace {

using ::testing::HasSubstr;

class DocumentOn : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, DocumentOn, support::both_engines(), support::engine_name);

TEST_P(DocumentOn, WhatIsExportedAppliesToTheSame) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    plane.apply(
        R"({"version":1,"budgets":[{"tenant":"acme","name":"b","limitGpuHours":0.5,"window":"day","enforce":true}],
        "boundaries":[{"tenant":"acme","document":{"version":1,"statements":[]}},
                      {"tenant":"acme","document":{"version":1,"statements":[{"effect":"allow","actions":["*"],"resources":["*"]}]}}]})"
    );
    const Json exported = plane.exported();

    LocalPlane other(GetParam());
    other.apply(exported.dump());

    EXPECT_EQ(other.exported(), exported);
    EXPECT_TRUE(other.apply(exported.dump(), {.is_prune = true}).changes.empty());
}

TEST_P(DocumentOn, ApplyingTwiceChangesNothingAndKeepsTheRevision) {
    LocalPlane plane(GetParam());
    const ApplyResult first = plane.apply(kDocument);

    const ApplyResult second = plane.apply(kDocument);

    EXPECT_FALSE(first.changes.empty());
    EXPECT_TRUE(second.changes.empty());
    EXPECT_EQ(second.revision, first.revision);
}

TEST_P(DocumentOn, ADryRunTellsAndChangesNothing) {
    LocalPlane plane(GetParam());
    const Json before = plane.exported();

    const ApplyResult told = plane.apply(kDocument, {.is_dry_run = true});

    EXPECT_FALSE(told.changes.empty());
    EXPECT_EQ(plane.exported(), before);
}

TEST_P(DocumentOn, WhatIsNotNamedStaysUnlessPruned) {
    LocalPlane plane(GetParam());
    plane.write([&](store::Transaction& tx) {
        return bootstrap_root(tx, plane.clock, plane.rng, "root");
    });
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");
    const char* const small = R"({"version":1,"tenants":[{"id":"initech"}]})";

    plane.apply(small);
    EXPECT_EQ(plane.exported()["identities"].size(), 5U);

    plane.apply(small, {.is_prune = true});
    const Json exported = plane.exported();
    EXPECT_EQ(exported["tenants"].size(), 2U);
    ASSERT_EQ(exported["identities"].size(), 1U);
    EXPECT_EQ(exported["identities"][0]["id"], "root");
    EXPECT_EQ(exported["policies"].size(), 1U);
    plane.apply(kDocument);
    EXPECT_EQ(
        code_of([&] { (void)plane.iam.authenticate(alice.credential); }), ErrorCode::Unauthenticated
    );
}

TEST_P(DocumentOn, ABadReferenceLeavesEverythingAsItWas) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Json before = plane.exported();

    const std::string message = message_of([&] {
        plane.apply(R"({"version":1,"tenants":[{"id":"new"}],
            "identities":[{"tenant":"acme","id":"eve","kind":"user","policies":["none"]}]})");
    });

    EXPECT_EQ(message, "identities acme/eve.policies: there is no acme/none in policies");
    EXPECT_EQ(plane.exported(), before);
}

TEST_P(DocumentOn, ADisabledIdentityStaysDisabledWhenNamedAgain) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");
    plane.write([](store::Transaction& tx) { switch_identity(tx, "alice", Switch::Disable); });

    plane.apply(
        R"({"version":1,"identities":[{"tenant":"acme","id":"alice","kind":"service","policies":["admin"]}]})"
    );

    EXPECT_EQ(
        code_of([&] { (void)plane.iam.authenticate(alice.credential); }), ErrorCode::Unauthenticated
    );
}

TEST_P(DocumentOn, AStoredPolicyThatDoesNotLoadDeniesEverything) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    plane.write([](store::Transaction& tx) {
        tx.execute(
            "update iam_policies set document = '{\"version\":9}' where tenant_id = 'acme' and "
            "name = 'read'"
        );
        tx.execute(
            "insert into iam_bindings (tenant_id, identity_id, kind, name) values ('acme', "
            "'alice', 'policy', 'read')"
        );
        tx.execute("update iam_state set revision = revision + 1");
    });
    const Session alice = plane.session("acme", "alice");

    EXPECT_THAT(
        plane.iam.authorize(alice, question("acme", "compute:pools:read", "compute-pool", "p1"))
            .reason,
        HasSubstr("denied by policy acme/read")
    );
}

TEST_P(DocumentOn, TheFirstRunMakesOneRootAndOneToken) {
    LocalPlane plane(GetParam());
    const auto bootstrap = [&] {
        return plane.write([&](store::Transaction& tx) {
            return bootstrap_root(tx, plane.clock, plane.rng, "root");
        });
    };

    const auto created = bootstrap();

    ASSERT_TRUE(created);
    EXPECT_FALSE(bootstrap());
    const Session root{plane.iam.authenticate(created->token), created->token};
    EXPECT_EQ(root.caller.tenant_id.str(), "root");
    EXPECT_TRUE(
        plane.iam.require(root, question("acme", "compute:pools:create", "compute-tenant", "acme"))
            .is_allowed
    );
}

TEST_P(DocumentOn, ATokenNeedsAnIdentityAndAPartyOfItsDelegation) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const auto code = [&](const std::string& tenant,
                          const std::string& identity,
                          std::optional<std::string> delegation) {
        NewToken wanted;
        wanted.tenant_id = tenant;
        wanted.identity_id = identity;
        wanted.delegation_id = std::move(delegation);
        return code_of([&] { (void)plane.token(wanted); });
    };

    EXPECT_EQ(code("nowhere", "alice", {}), ErrorCode::NotFound);
    EXPECT_EQ(code("acme", "nobody", {}), ErrorCode::NotFound);
    EXPECT_EQ(code("globex", "alice", {}), ErrorCode::NotFound);
    EXPECT_EQ(code("acme", "bot", "dlg9"), ErrorCode::NotFound);
    EXPECT_EQ(code("acme", "bob", "dlg1"), ErrorCode::InvalidInput);
    EXPECT_EQ(code("acme", "alice", "dlg1"), std::nullopt);
}

TEST_P(DocumentOn, ListsTokensWithoutTheTokens) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session alice = plane.session("acme", "alice");

    const auto tokens =
        plane.write([](store::Transaction& tx) { return list_tokens(tx); });

    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_EQ(tokens[0].id, alice.caller.session_id.str());
    EXPECT_EQ(tokens[0].created_by, "test");
    EXPECT_EQ(
        code_of([&] {
            plane.write([&](store::Transaction& tx) {
                revoke_tokens(tx, {tokens[0].id, "tok_none"}, 1);
            });
        }),
        ErrorCode::NotFound
    );
    EXPECT_EQ(code_of([&] { (void)plane.iam.authenticate(alice.credential); }), std::nullopt);
}

TEST_P(DocumentOn, TheDenialLogKeepsTheNewestTenThousand) {
    LocalPlane plane(GetParam());
    DenialLog log;
    const auto record = [&](int count, int from) {
        for (int i = 0; i < count; ++i) {
            Denial denial;
            denial.at = from + i;
            denial.tenant_id = "acme";
            log.record(std::move(denial));
        }
    };

    for (int batch = 0; batch < 3; ++batch) {
        record(4'000, batch * 4'000);
        EXPECT_EQ(log.flush(plane.db.database()), 4'000);
    }
    EXPECT_EQ(log.flush(plane.db.database()), 0);

    const auto kept =
        plane.write([](store::Transaction& tx) { return list_denials(tx, "acme", 20'000); });
    ASSERT_EQ(kept.size(), 10'000U);
    EXPECT_EQ(kept.front().at, 11'999);
    EXPECT_EQ(kept.back().at, 2'000);
}

TEST_P(DocumentOn, AFullRingLosesTheOldestAndCountsThem) {
    LocalPlane plane(GetParam());
    DenialLog log;
    for (std::size_t i = 0; i < kDenialRing + 5; ++i) {
        log.record({});
    }

    EXPECT_EQ(log.lost(), 5U);
    EXPECT_EQ(log.flush(plane.db.database()), static_cast<int>(kDenialRing));
}

TEST_P(DocumentOn, AProjectionRowIsReplacedAndNeverChangesItsTenant) {
    LocalPlane plane(GetParam());
    const ResourceRef pool{"pool", "p1"};
    const auto find = [&] {
        return plane.write([&](store::Transaction& tx) { return find_projection(tx, pool); });
    };
    plane.project(
        {pool,
         TenantId("acme"),
         std::make_shared<const Json>(Json{{"a", 1}, {"b", 2}}),
         "alice",
         nullptr}
    );

    plane.project(
        {pool,
         TenantId("acme"),
         std::make_shared<const Json>(Json{{"a", 3}}),
         std::nullopt,
         nullptr}
    );
    EXPECT_EQ(*find()->attributes, (Json{{"a", 3}}));
    EXPECT_FALSE(find()->owner_id);

    EXPECT_EQ(
        code_of([&] {
            plane.project({pool, TenantId("globex"), nullptr, std::nullopt, nullptr});
        }),
        ErrorCode::InternalError
    );
    EXPECT_EQ(find()->tenant_id.str(), "acme");
    plane.write([&](store::Transaction& tx) { remove_projection(tx, pool); });
    EXPECT_FALSE(find());
}

TEST(Document, WhatIsWrongIsNamedByPath) {
    struct Refusal {
        const char* document;
        const char* message;
    };
    constexpr Refusal kRefusals[] = {
        {R"({})", "version: Required"},
        {R"({"version":2})", "version: must be at most 1"},
        {R"({"version":1,"users":[]})", "Unknown field users"},
        {R"({"version":1,"tenants":[{"id":"a b"}]})", "tenants[0].id: must match"},
        {R"({"version":1,"tenants":[{"id":"a"},{"id":"a"}]})", "tenants[1]: a is named twice"},
        {R"({"version":1,"identities":[{"tenant":"a","id":"b","kind":"robot","policies":[]}]})",
         "identities[0].kind: must be one of user, service, agent"},
        {R"({"version":1,"identities":[{"tenant":"a","id":"os:root","kind":"user","policies":[]}]})",
         "identities[0].id: os: is kept"},
        {R"({"version":1,"identities":[{"tenant":"a","id":"b","kind":"user","policies":[],"attributes":{"tenantId":"x"}}]})",
         "identities[0].attributes.tenantId: is a name the IAM fills in itself"},
        {R"({"version":1,"identities":[{"tenant":"a","id":"b","kind":"user","policies":[],"attributes":{"x":{}}}]})",
         "identities[0].attributes.x: must be a string, a number"},
        {R"({"version":1,"policies":[{"tenant":"a","name":"b","document":{"version":1,"statements":[{"effect":"allow"}]}}]})",
         "policies[0].document.statements[0].actions: Required"},
        {R"({"version":1,"boundaries":[{"tenant":"a","document":{"version":3}}]})",
         "boundaries[0].document.version: must be 1"},
        {R"({"version":1,"budgets":[{"tenant":"a","name":"b","limitGpuHours":-1,"window":"day","enforce":true}]})",
         "budgets[0].limitGpuHours: must be at least 0"},
        {R"({"version":1,"delegations":[{"id":"d","tenant":"a","agent":"x","subject":"x","scopes":[],"confirm":[],"maxSeconds":1}]})",
         "delegations[0].agent: must be another identity"},
    };
    for (const Refusal& refusal : kRefusals) {
        EXPECT_THAT(
            message_of([&] { (void)parse_document(parse_json(refusal.document)); }),
            HasSubstr(refusal.message)
        ) << refusal.document;
    }
}

}  // namespace
}  // namespace compute::iam::local
