// Reads: one snapshot, no writes.
#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

class Reads : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Reads, support::both_engines(), support::engine_name);

TEST_P(Reads, ReturnWhatWasWritten) {
    db().write([](store::Transaction& tx) { tx.execute(kInsertItem, {1, "one"}); });

    const auto row =
        db().read([](store::Transaction& tx) { return tx.get_row("select name, id from items"); });

    EXPECT_EQ(row.get_text(0), "one");
    EXPECT_EQ(row.get_int(1), 1);
}

TEST_P(Reads, RefuseWritesInATransaction) {
    EXPECT_THROW(
        db().read([](store::Transaction& tx) {
            tx.execute(kInsertItem, {1, "one"});
        }),
        store::ReadOnlyViolation
    );

    EXPECT_EQ(count_items(), 0);
}

TEST_P(Reads, RefuseWritesOfASingleQuery) {
    EXPECT_THROW(
        db().query("insert into items (id, name) values ($1, $2) returning id", {1, "one"}),
        store::ReadOnlyViolation
    );

    EXPECT_EQ(count_items(), 0);
}

TEST_P(Reads, KeepTheirSnapshotWhileOthersWrite) {
    const auto counts = db().read([&](store::Transaction& tx) {
        const auto before = tx.get_row(kCountItems).get_int(0);
        std::thread([&] { db().execute(kInsertItem, {1, "one"}); }).join();
        return std::pair(before, tx.get_row(kCountItems).get_int(0));
    });

    EXPECT_EQ(counts, std::pair(std::int64_t{0}, std::int64_t{0}));
    EXPECT_EQ(count_items(), 1);
}

TEST_P(Reads, AreRefusedInsideAnotherTransaction) {
    EXPECT_EQ(
        code_of([&] {
            db().read([&](store::Transaction&) { db().read([](store::Transaction&) {}); });
        }),
        ErrorCode::InvalidState
    );
    EXPECT_EQ(
        code_of([&] { db().write([&](store::Transaction&) { db().query(kCountItems); }); }),
        ErrorCode::InvalidState
    );
    EXPECT_EQ(store::transaction_depth(), 0);
}

TEST_P(Reads, SayHowDeepTheThreadIs) {
    int inside = 0;
    db().read([&](store::Transaction& tx) {
        inside = store::transaction_depth();
        EXPECT_TRUE(tx.is_read_only());
        EXPECT_EQ(tx.engine(), GetParam());
    });

    EXPECT_EQ(inside, 1);
    EXPECT_EQ(store::transaction_depth(), 0);
}

}  // namespace
}  // namespace compute::conformance
