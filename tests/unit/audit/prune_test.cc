#include "audit/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/audit/rig.h"

namespace compute::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Rows of two hours, sealed, and one that is not; the first hour's are four.
class Pruning : public AuditTest {
protected:
    Pruning() {
        ids_ = rig.append_rows("acme", 2);
        rig.append_rows("globex", 2);
        seal_due(rig.tools());
        rig.pass_hour();
        cutoff_ = rig.clock.now_ms();
        later_ = rig.append_row("acme");
        seal_due(rig.tools());
        rig.pass_hour();
        rig.append_row("acme");
    }

    std::int64_t count(const char* sql) { return rig.db().query(store::Sql(sql))[0].get_int(0); }

    std::vector<std::string> ids_;
    std::string later_;
    EpochMs cutoff_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Engines, Pruning, support::both_engines(), support::engine_name);

TEST_P(Pruning, WhatIsGoneOnPurposeIsNoFault) {
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_), 4);

    EXPECT_EQ(count("select count(*) from audit_events"), 2);
    EXPECT_EQ(count("select count(*) from audit_leaves"), 1) << "leaves go with their rows";
    EXPECT_EQ(count("select count(*) from audit_checkpoints"), 3) << "checkpoints stay";
    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.rows, 1);
    EXPECT_EQ(done.pruned, 4);
    EXPECT_EQ(done.checkpoints, 3);
}

TEST_P(Pruning, HalfASealMayBeGone) {
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_, 3), 3);

    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.rows, 2);
    EXPECT_EQ(done.pruned, 3);
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_, 3), 1);
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_, 3), 0);
    EXPECT_TRUE(rig.check().is_ok());
}

TEST_P(Pruning, RowsThatAreNotSealedStay) {
    EXPECT_EQ(prune_rows(rig.tools(), rig.clock.now_ms() + 1), 5);

    EXPECT_EQ(count("select count(*) from audit_events"), 1);
    EXPECT_TRUE(rig.check().is_ok());
    EXPECT_EQ(rig.check().unsealed, 1);
}

TEST_P(Pruning, ARowAsOldAsTheCutoffStays) {
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_), 4);
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_), 0);
    EXPECT_EQ(prune_rows(rig.tools(), cutoff_ + 1), 1);
}

TEST_P(Pruning, ARowRemovedBehindThePrunedPlaceIsNamed) {
    prune_rows(rig.tools(), cutoff_);
    rig.execute("delete from audit_events where id = $1", {later_});

    EXPECT_THAT(rows_of(rig.check()), ElementsAre(later_));
}

// Someone who moves the place instead of asking for a signature.
TEST_P(Pruning, APlaceThatIsNotSignedExcusesNothing) {
    prune_rows(rig.tools(), cutoff_);
    rig.execute("delete from audit_events where id = $1", {later_});
    rig.execute("update audit_seal_state set pruned_txid = txid, pruned_seq = seq");

    EXPECT_THAT(rows_of(rig.check()), testing::Contains(later_));
    EXPECT_THAT(words_of(rig.check()), HasSubstr("not signed"));
}

TEST_P(Pruning, APrunedRowThatIsPutBackIsNamed) {
    rig.execute("create table kept as select * from audit_events where tenant_id = 'globex'");
    rig.execute("delete from kept where id <> (select min(id) from kept)");
    prune_rows(rig.tools(), cutoff_);
    rig.execute(store::Sql(
        "insert into audit_events select * from kept",
        "insert into audit_events overriding system value select * from kept"
    ));

    EXPECT_THAT(
        rows_of(rig.check()), ElementsAre(rig.db().query("select id from kept")[0].get_text(0))
    );
    rig.execute("drop table kept");
}

TEST_P(Pruning, SealingGoesOnBehindIt) {
    prune_rows(rig.tools(), rig.clock.now_ms() + 1);
    rig.append_row("acme");
    seal_due(rig.tools());

    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.rows, 2);
    EXPECT_EQ(done.pruned, 5);
}

}  // namespace
}  // namespace compute::audit
