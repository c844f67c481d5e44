#include "audit/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/crypto.h"

#include "tests/unit/audit/rig.h"

namespace compute::audit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Three hours of two tenants: acme's ids_[0..5], two an hour, and one of globex each.
class Verifying : public AuditTest {
protected:
    Verifying() {
        for (int hour = 0; hour < 3; ++hour) {
            for (int i = 0; i < 2; ++i) {
                ids_.push_back(rig.append_row("acme"));
            }
            others_.push_back(rig.append_row("globex"));
            seal_due(rig.tools());
            rig.pass_hour();
        }
    }

    // A row as an intruder would write it: at `seq`, with everything else as in `like`.
    void put_in(std::int64_t seq, const std::string& id, const std::string& like) {
        constexpr store::Sql kPut(
            "insert into audit_events (seq, id, time, tenant_id, identity_id, identity_kind, "
            "actor_tenant_id, session_id, session_kind, method, action, resource_type, "
            "resource_id, decision_reason, request_id) select $1, $2, time, tenant_id, "
            "identity_id, identity_kind, actor_tenant_id, session_id, session_kind, method, "
            "action, resource_type, resource_id, decision_reason, request_id from audit_events "
            "where id = $3",
            "insert into audit_events (seq, txid, id, time, tenant_id, identity_id, identity_kind, "
            "actor_tenant_id, session_id, session_kind, method, action, resource_type, "
            "resource_id, decision_reason, request_id) overriding system value select $1, txid, "
            "$2, time, tenant_id, identity_id, identity_kind, actor_tenant_id, session_id, "
            "session_kind, method, action, resource_type, resource_id, decision_reason, request_id "
            "from audit_events where id = $3"
        );
        rig.execute(kPut, {seq, id, like});
    }

    std::vector<std::string> ids_;
    std::vector<std::string> others_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Verifying, support::both_engines(), support::engine_name);

TEST_P(Verifying, AnUntouchedTrailHasNoFault) {
    const Verification done = rig.check();

    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.checkpoints, 6);
    EXPECT_EQ(done.rows, 9);
}

TEST_P(Verifying, AChangedColumnIsNamedWhicheverItIs) {
    const char* const columns[] = {
        "tenant_id",
        "identity_id",
        "identity_kind",
        "actor_tenant_id",
        "session_id",
        "session_kind",
        "agent_id",
        "delegation_id",
        "method",
        "action",
        "resource_type",
        "resource_id",
        "decision_reason",
        "admission",
        "request_id",
        "source_ip",
        "parent_id"};
    for (const std::string column : columns) {
        const std::string change = "update audit_events set " + column + " = $2 where id = $1";
        const std::string read = "select " + column + " from audit_events where id = $1";
        const auto old = rig.db().query(store::Sql(std::string_view(read)), {ids_[2]})[0];
        rig.execute(store::Sql(std::string_view(change)), {ids_[2], "forged"});

        EXPECT_THAT(rows_of(rig.check()), ElementsAre(ids_[2])) << column;

        rig.execute(store::Sql(std::string_view(change)), {ids_[2], old.find_text(0)});
    }
    rig.execute("update audit_events set time = time + 1 where id = $1", {ids_[2]});
    EXPECT_THAT(rows_of(rig.check()), ElementsAre(ids_[2]));
    EXPECT_THAT(words_of(rig.check()), HasSubstr("was changed"));
    if (GetParam() == store::Engine::Sqlite) {
        rig.execute("update audit_events set time = 'noon' where id = $1", {ids_[2]});
        EXPECT_THAT(rows_of(rig.check()), ElementsAre(ids_[2]));
    }
}

TEST_P(Verifying, ARemovedRowIsNamed) {
    rig.execute("delete from audit_events where id = $1", {ids_[3]});

    const Verification done = rig.check();
    EXPECT_THAT(rows_of(done), ElementsAre(ids_[3]));
    EXPECT_THAT(words_of(done), HasSubstr("was removed"));
    EXPECT_EQ(done.rows, 8);
}

TEST_P(Verifying, ARowPutInIsNamedWhereverItIs) {
    const std::int64_t first =
        rig.db().query("select seq from audit_events where id = $1", {ids_[0]})[0].get_int(0);
    put_in(first - 1, "aud_before", ids_[0]);
    put_in(-7, "aud_below_all", ids_[0]);
    rig.execute(
        store::Sql(
            "update audit_events set seq = seq + 1000 where id = $1",
            "update audit_events set txid = txid + 1000 where id = $1"
        ),
        {ids_[5]}
    );
    rig.execute("delete from audit_events where id = $1", {ids_[4]});

    EXPECT_THAT(
        rows_of(rig.check()),
        testing::IsSupersetOf({std::string("aud_before"), std::string("aud_below_all"), ids_[4]})
    );
    EXPECT_THAT(rows_of(rig.check()), Contains(ids_[5]));
}

TEST_P(Verifying, ARowOfATenantWithoutACheckpointIsNamed) {
    const std::int64_t first =
        rig.db().query("select seq from audit_events where id = $1", {ids_[0]})[0].get_int(0);
    put_in(first - 1, "aud_stranger", ids_[0]);
    rig.execute("update audit_events set tenant_id = 'initech' where id = 'aud_stranger'");

    EXPECT_THAT(rows_of(rig.check()), ElementsAre("aud_stranger"));
    EXPECT_THAT(rows_of(rig.check({.tenant_id = "initech"})), ElementsAre("aud_stranger"));
    EXPECT_THAT(rows_of(rig.check({.tenant_id = "acme"})), IsEmpty());
}

TEST_P(Verifying, OfOneTenantOnlyItsRowsAreJudged) {
    rig.execute("update audit_events set method = 'x' where id = $1", {others_[1]});
    rig.execute("update audit_events set tenant_id = 'globex' where id = $1", {ids_[0]});

    const Verification acme = rig.check({.tenant_id = "acme"});
    EXPECT_THAT(rows_of(acme), ElementsAre(ids_[0]));
    EXPECT_EQ(acme.checkpoints, 3);
    EXPECT_THAT(
        rows_of(rig.check({.tenant_id = "globex"})), UnorderedElementsAre(ids_[0], others_[1])
    );
}

TEST_P(Verifying, SinceLeavesOutWhatWasSealedBefore) {
    rig.execute("update audit_events set method = 'x' where id = $1", {ids_[0]});

    VerifyOptions options;
    options.since = rig.clock.now_ms() - 2 * kSealEveryMs;
    const Verification later = rig.check(options);
    EXPECT_TRUE(later.is_ok()) << words_of(later);
    EXPECT_EQ(later.checkpoints, 4);
    EXPECT_EQ(later.rows, 6);

    options.since = rig.clock.now_ms();
    EXPECT_EQ(rig.check(options).checkpoints, 0);
    EXPECT_TRUE(rig.check(options).is_ok());
}

TEST_P(Verifying, AChangedCheckpointIsNamed) {
    for (const char* const change :
         {"row_count = row_count + 1",
          "root = previous",
          "sealed_at = sealed_at - 1",
          "first_time = 0",
          "tenant_id = 'initech'",
          "to_seq = to_seq + 1",
          "signature = 'AAAA'",
          "previous = root"}) {
        rig.execute("create table kept as select * from audit_checkpoints");
        const std::string sql =
            "update audit_checkpoints set " + std::string(change) + " where number = 3";
        rig.execute(store::Sql(std::string_view(sql)));

        EXPECT_THAT(checkpoints_of(rig.check()), Contains(3)) << change;

        rig.execute("delete from audit_checkpoints");
        rig.execute("insert into audit_checkpoints select * from kept");
        rig.execute("drop table kept");
        ASSERT_TRUE(rig.check().is_ok());
    }
}

TEST_P(Verifying, ARemovedCheckpointIsNamed) {
    rig.execute("delete from audit_checkpoints where number = 3");

    EXPECT_THAT(checkpoints_of(rig.check()), Contains(3));
    EXPECT_THAT(words_of(rig.check()), HasSubstr("checkpoint 3 is missing"));
}

TEST_P(Verifying, AnEndThatWasCutOffIsSeen) {
    rig.execute("delete from audit_checkpoints where number >= 5");
    EXPECT_THAT(words_of(rig.check()), HasSubstr("checkpoint 5 to 6 are missing"));
}

// Someone who also winds the noted end back leaves a chain that is whole: only what was kept
// elsewhere shows that it was longer.
TEST_P(Verifying, AnEndThatWasCutOffWithCareIsSeenByAHashKeptElsewhere) {
    const std::string kept = rig.check().last_hash;
    rig.execute(
        "delete from audit_events where id in ($1, $2, $3)", {ids_[4], ids_[5], others_[2]}
    );
    rig.execute("delete from audit_leaves where seal = 5");
    rig.execute(
        "update audit_seal_state set checkpoint = 4, hash = (select previous from "
        "audit_checkpoints where number = 5), txid = (select to_txid from audit_checkpoints where "
        "number = 4), seq = (select to_seq from audit_checkpoints where number = 4)"
    );
    rig.execute("delete from audit_checkpoints where number >= 5");

    EXPECT_TRUE(rig.check().is_ok());
    EXPECT_THAT(words_of(rig.check({.anchor = kept})), HasSubstr("the chain was cut"));
}

TEST_P(Verifying, AHashThatIsInTheChainIsFound) {
    EXPECT_TRUE(rig.check({.anchor = rig.check().last_hash}).is_ok());
}

TEST_P(Verifying, ANotedEndThatWasWoundBackAloneIsSeen) {
    rig.execute("update audit_seal_state set checkpoint = 4");

    EXPECT_FALSE(rig.check().is_ok());
    EXPECT_THAT(words_of(rig.check()), HasSubstr("lies behind the end"));
}

TEST_P(Verifying, StoredLeavesThatWereChangedDoNotSpeakAgainstTheRows) {
    rig.execute("update audit_leaves set leaves = '' where seal = 1");
    rig.execute("delete from audit_leaves where seal = 3");
    rig.execute("update audit_leaves set leaves = 'nonsense' where seal = 5");

    const Verification done = rig.check();
    EXPECT_THAT(rows_of(done), IsEmpty()) << words_of(done);
    EXPECT_THAT(checkpoints_of(done), UnorderedElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(done.rows, 9);
}

TEST_P(Verifying, RowsAndLeavesChangedTogetherAreSeenAtTheirCheckpoint) {
    rig.execute("update audit_events set method = 'x' where id = $1", {ids_[0]});
    const std::string digest = crypto::to_base64url(rig.db().read([&](store::Transaction& tx) {
        return digest_of(find_record(tx, ids_[0]).value());
    }));
    const std::string text =
        rig.db().query("select leaves from audit_leaves where seal = 1")[0].get_text(0);
    const auto end = text.find('\n');
    rig.execute(
        "update audit_leaves set leaves = $1 where seal = 1",
        {text.substr(0, end - digest.size()) + digest + text.substr(end)}
    );

    EXPECT_THAT(checkpoints_of(rig.check()), ElementsAre(1));
}

// Someone who can write the database, but does not have the deployment secret, signs anew.
TEST_P(Verifying, AKeyThatNobodyVouchesForProvesNothing) {
    const crypto::SecretBox foreign = make_key_box(kNextSecret, {});
    const NewKey forged = make_key(foreign, rig.clock, rig.rng);
    rig.execute("delete from audit_checkpoints");
    rig.execute("delete from audit_leaves");
    rig.execute("delete from audit_keys");
    rig.execute("update audit_seal_state set checkpoint = 0, hash = '', txid = 0, seq = 0");
    rig.execute("update audit_events set method = 'x' where id = $1", {ids_[0]});
    rig.db().write([&](store::Transaction& tx) { insert_key(tx, forged); });
    seal_now({rig.db(), foreign, rig.clock, rig.rng, rig.log});

    EXPECT_THAT(words_of(rig.check()), HasSubstr("no configured secret opens key"));
    EXPECT_TRUE(rig.check({.keys = {forged.key.public_key}}).is_ok()) << "named on purpose";
}

TEST_P(Verifying, APublicKeyThatDoesNotBelongToItsSeedIsSeen) {
    const NewKey other = make_key(rig.box, rig.clock, rig.rng);
    rig.execute("update audit_keys set public_key = $1", {other.key.public_key});

    EXPECT_THAT(words_of(rig.check()), HasSubstr("was changed"));
    EXPECT_FALSE(rig.check().is_ok());
}

TEST_P(Verifying, ManyFaultsAreCutOff) {
    rig.append_row("acme");
    constexpr store::Sql kCopies(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500) insert "
        "into audit_events (id, time, tenant_id, identity_id, identity_kind, actor_tenant_id, "
        "session_id, session_kind, method, action, resource_type, resource_id, decision_reason, "
        "request_id) select 'aud_' || i, time, 'acme', identity_id, identity_kind, "
        "actor_tenant_id, session_id, session_kind, method, action, resource_type, resource_id, "
        "decision_reason, request_id from n cross join (select * from audit_events limit 1) one"
    );
    rig.execute(kCopies);
    seal_now(rig.tools());
    ASSERT_TRUE(rig.check().is_ok()) << words_of(rig.check());
    rig.execute("update audit_events set method = 'x'");

    const Verification done = rig.check();
    EXPECT_EQ(done.faults.size(), kMaxFaults);
    EXPECT_TRUE(done.is_cut);
}

}  // namespace
}  // namespace compute::audit
