// Savepoints: a part of a transaction that can fail alone.
#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

using ::testing::ElementsAre;

class Savepoints : public EngineTest {
protected:
    std::vector<std::int64_t> ids() {
        std::vector<std::int64_t> out;
        for (const auto& row : db().query("select id from items order by id")) {
            out.push_back(row.get_int(0));
        }
        return out;
    }

    static void insert(store::Transaction& tx, int id) {
        tx.execute(kInsertItem, {id, "item " + std::to_string(id)});
    }
    static void defer(store::Transaction& tx, int id) {
        tx.defer(kInsertItem, {id, "item " + std::to_string(id)});
    }
    // Whether `function` in a savepoint failed with a duplicate.
    template <class Function>
    static bool is_duplicate(store::Transaction& tx, Function function) {
        try {
            tx.savepoint(function);
        } catch (const store::UniqueViolation&) {
            return true;
        }
        return false;
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, Savepoints, support::both_engines(), support::engine_name);

TEST_P(Savepoints, KeepWhatTheyWroteAndReturnAValue) {
    const auto value = db().write([](store::Transaction& tx) {
        insert(tx, 1);
        return tx.savepoint([&] {
            insert(tx, 2);
            EXPECT_EQ(tx.savepoint_depth(), 1);
            return tx.get_row(kCountItems).get_int(0);
        });
    });

    EXPECT_EQ(value, 2);
    EXPECT_THAT(ids(), ElementsAre(1, 2));
}

TEST_P(Savepoints, UndoOnlyTheirOwn) {
    db().write([](store::Transaction& tx) {
        insert(tx, 1);
        EXPECT_TRUE(is_duplicate(tx, [&] {
            insert(tx, 2);
            insert(tx, 1);
        }));
        EXPECT_EQ(tx.savepoint_depth(), 0);
        insert(tx, 3);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 3));
}

TEST_P(Savepoints, UndoWhenTheFunctionThrowsWithoutAnyStatement) {
    db().write([](store::Transaction& tx) {
        insert(tx, 1);
        EXPECT_THROW(tx.savepoint([] { throw not_found("nothing"); }), ComputeError);
        insert(tx, 2);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 2));
}

TEST_P(Savepoints, UndoWhatTheyDeferredAndNeverSent) {
    db().write([](store::Transaction& tx) {
        defer(tx, 1);
        EXPECT_THROW(
            tx.savepoint([&] {
                defer(tx, 2);
                throw not_found("nothing");
            }),
            ComputeError
        );
        defer(tx, 3);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 3));
}

TEST_P(Savepoints, CatchTheErrorsOfWhatTheyDeferred) {
    db().execute(kInsertItem, {1, "one"});
    db().write([](store::Transaction& tx) {
        defer(tx, 2);
        EXPECT_TRUE(is_duplicate(tx, [&] {
            defer(tx, 3);
            defer(tx, 1);
        }));
        defer(tx, 4);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 2, 4));
}

TEST_P(Savepoints, DoNotHideTheErrorsOfWhatWasDeferredBefore) {
    db().execute(kInsertItem, {1, "one"});

    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            defer(tx, 1);
            (void)is_duplicate(tx, [&] { insert(tx, 2); });
            insert(tx, 3);
        }),
        store::UniqueViolation
    );

    EXPECT_THAT(ids(), ElementsAre(1));
}

TEST_P(Savepoints, Nest) {
    db().write([](store::Transaction& tx) {
        insert(tx, 1);
        tx.savepoint([&] {
            insert(tx, 2);
            EXPECT_TRUE(is_duplicate(tx, [&] {
                EXPECT_EQ(tx.savepoint_depth(), 2);
                insert(tx, 3);
                insert(tx, 2);
            }));
            insert(tx, 4);
            tx.savepoint([&] { insert(tx, 5); });
        });
        EXPECT_THROW(
            tx.savepoint([&] {
                tx.savepoint([&] { insert(tx, 6); });
                throw not_found("nothing");
            }),
            ComputeError
        );
        insert(tx, 7);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 2, 4, 5, 7));
}

TEST_P(Savepoints, UndoEachTimeWhenManyFailOneAfterAnother) {
    db().write([](store::Transaction& tx) {
        insert(tx, 1);
        for (int i = 0; i < 5; ++i) {
            EXPECT_TRUE(is_duplicate(tx, [&] {
                tx.savepoint([&] { defer(tx, 100 + i); });
                insert(tx, 1);
            }));
        }
        insert(tx, 2);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 2));
}

TEST_P(Savepoints, UndoWhenTheyEndWithAnErrorThatWasSwallowedInside) {
    db().execute(kInsertItem, {1, "one"});
    db().write([](store::Transaction& tx) {
        EXPECT_TRUE(is_duplicate(tx, [&] {
            insert(tx, 2);
            try {
                insert(tx, 1);
            } catch (const store::UniqueViolation&) {
                // Swallowed: the savepoint has nothing to keep all the same.
            }
        }));
        insert(tx, 3);
    });

    EXPECT_THAT(ids(), ElementsAre(1, 3));
}

TEST_P(Savepoints, TakeTheirHooksWithThem) {
    std::vector<int> seen;
    db().write([&](store::Transaction& tx) {
        tx.after_commit([&] { seen.push_back(1); });
        EXPECT_THROW(
            tx.savepoint([&] {
                tx.after_commit([&] { seen.push_back(2); });
                throw not_found("nothing");
            }),
            ComputeError
        );
        tx.savepoint([&] { tx.after_commit([&] { seen.push_back(3); }); });
    });

    EXPECT_THAT(seen, ElementsAre(1, 3));
}

TEST_P(Savepoints, WorkInReads) {
    const auto count = db().read([](store::Transaction& tx) {
        EXPECT_THROW(tx.savepoint([&] { tx.query("select * from missing"); }), ComputeError);
        return tx.get_row(kCountItems).get_int(0);
    });

    EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace compute::conformance
