// Writes: all or nothing, typed errors, what runs after the commit.
#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Writes : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Writes, support::both_engines(), support::engine_name);

TEST_P(Writes, ReturnTheValueOfTheFunction) {
    const auto changed = db().write([](store::Transaction& tx) {
        tx.execute(kInsertItem, {1, "one"});
        tx.execute(kInsertItem, {2, "two"});
        return tx.execute("update items set other = $1", {5});
    });

    EXPECT_EQ(changed, 2);
}

TEST_P(Writes, ReadWhatTheyWrote) {
    const auto count = db().write([](store::Transaction& tx) {
        tx.defer(kInsertItem, {1, "one"});
        return tx.get_row(kCountItems).get_int(0);
    });

    EXPECT_EQ(count, 1);
}

TEST_P(Writes, AreUndoneWhenTheFunctionThrows) {
    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            tx.execute(kInsertItem, {1, "one"});
            tx.defer(kInsertItem, {2, "two"});
            throw not_found("nothing");
        }),
        ComputeError
    );

    EXPECT_EQ(count_items(), 0);
}

TEST_P(Writes, OfDeferredStatementsOnlyAreCommitted) {
    db().write([](store::Transaction& tx) {
        tx.defer(kInsertItem, {1, "one"});
        tx.defer(kInsertItem, {2, "two"});
    });

    EXPECT_EQ(count_items(), 2);
}

TEST_P(Writes, OfNothingAreFine) {
    db().write([](store::Transaction&) {});

    EXPECT_EQ(count_items(), 0);
}

TEST_P(Writes, NameTheConstraintOfADuplicate) {
    db().execute(kInsertItem, {1, "one"});
    try {
        db().execute(kInsertItem, {2, "one"});
        FAIL();
    } catch (const store::UniqueViolation& error) {
        EXPECT_EQ(error.constraint(), is_postgres() ? "items_name_key" : "items.name");
        EXPECT_EQ(error.code(), ErrorCode::Conflict);
    }

    EXPECT_THROW(db().execute(kInsertItem, {1, "other"}), store::UniqueViolation);
    EXPECT_EQ(count_items(), 1);
}

TEST_P(Writes, ReportADuplicateThatWasDeferredAtTheLatestWithTheCommit) {
    db().execute(kInsertItem, {1, "one"});

    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            tx.defer(kInsertItem, {2, "two"});
            tx.defer(kInsertItem, {3, "one"});
        }),
        store::UniqueViolation
    );

    EXPECT_EQ(count_items(), 1);
}

TEST_P(Writes, TreatOtherConstraintsAsDefects) {
    EXPECT_THROW(
        db().execute("insert into items (id, other) values ($1, $2)", {1, -5}),
        store::ConstraintViolation
    );
    EXPECT_EQ(
        code_of([&] {
            db().execute("insert into items (id, other) values ($1, $2)", {1, -5});
        }),
        ErrorCode::InternalError
    );
}

TEST_P(Writes, CannotGoOnAfterAnErrorWithoutASavepoint) {
    db().execute(kInsertItem, {1, "one"});

    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            try {
                tx.execute(kInsertItem, {1, "again"});
            } catch (const store::UniqueViolation&) {
                // Swallowed; what follows must not pass for a success.
            }
            tx.execute(kInsertItem, {2, "two"});
        }),
        store::UniqueViolation
    );
    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            tx.execute(kInsertItem, {3, "three"});
            try {
                tx.execute(kInsertItem, {1, "again"});
            } catch (const store::UniqueViolation&) {
                // Swallowed, and nothing follows but the commit.
            }
        }),
        store::UniqueViolation
    );

    EXPECT_EQ(count_items(), 1);
}

TEST_P(Writes, RunTheirHooksAfterTheCommitInOrderOutsideOfTheTransaction) {
    std::vector<std::string> seen;
    db().write([&](store::Transaction& tx) {
        tx.execute(kInsertItem, {1, "one"});
        tx.after_commit([&] {
            seen.push_back("first at depth " + std::to_string(store::transaction_depth()));
        });
        tx.after_commit([&] { seen.push_back("second sees " + std::to_string(count_items())); });
        EXPECT_THAT(seen, IsEmpty());
    });

    EXPECT_THAT(seen, ElementsAre("first at depth 0", "second sees 1"));
}

TEST_P(Writes, RunTheirHooksOnTheCallersThread) {
    std::thread::id thread;
    db().write([&](store::Transaction& tx) {
        tx.after_commit([&] { thread = std::this_thread::get_id(); });
    });

    EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST_P(Writes, RunNoHookWhenTheyRollBack) {
    bool has_run = false;
    EXPECT_THROW(
        db().write([&](store::Transaction& tx) {
            tx.after_commit([&] { has_run = true; });
            throw not_found("nothing");
        }),
        ComputeError
    );

    EXPECT_FALSE(has_run);
}

TEST_P(Writes, KeepMemosForTheirOwnLengthOnly) {
    const auto next = [](store::Transaction& tx) {
        auto& memo = tx.memo("counter");
        memo = memo.value_or(0) + 1;
        return *memo;
    };
    const auto first = db().write([&](store::Transaction& tx) { return next(tx) + next(tx); });
    const auto second = db().write(next);

    EXPECT_EQ(first, 3);
    EXPECT_EQ(second, 1);
}

TEST_P(Writes, OfTwoThreadsDoNotMix) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 10; ++k) {
                db().write([&](store::Transaction& tx) {
                    tx.defer(kInsertItem, {i * 100 + k, "item " + std::to_string(i * 100 + k)});
                    tx.after_commit([] {});
                });
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(count_items(), 80);
}

TEST_P(Writes, OnADatabaseOpenedReadOnlyAreRefused) {
    db().execute(kInsertItem, {1, "one"});
    store::Options options;
    options.read_only = true;
    const auto reader = data().open(options);

    EXPECT_THROW(reader->write([](store::Transaction&) {}), store::ReadOnlyViolation);
    EXPECT_THROW(reader->execute(kInsertItem, {2, "two"}), store::ReadOnlyViolation);
    EXPECT_EQ(reader->query(kCountItems).at(0).get_int(0), 1);
}

TEST_P(Writes, CountWhatTheyDoByPurpose) {
    const auto before = db().counters(store::Purpose::Background);
    const auto calls = db().counters(store::Purpose::Call);
    db().write(
        [](store::Transaction& tx) {
            tx.execute(kInsertItem, {1, "one"});
            tx.query(kCountItems);
        },
        store::Purpose::Background
    );
    db().query(kCountItems, {}, store::Purpose::Background);
    const auto after = db().counters(store::Purpose::Background);

    EXPECT_EQ(after.write_transactions - before.write_transactions, 1U);
    EXPECT_EQ(after.read_transactions - before.read_transactions, 1U);
    EXPECT_EQ(after.statements - before.statements, 3U);
    EXPECT_EQ(after.commits - before.commits, 1U);
    EXPECT_EQ(after.rollbacks, before.rollbacks);
    EXPECT_EQ(db().counters(store::Purpose::Call).statements, calls.statements);
}

TEST_P(Writes, CountRollbacks) {
    const auto before = db().counters(store::Purpose::Call).rollbacks;
    EXPECT_THROW(db().write([](store::Transaction&) { throw not_found("nothing"); }), ComputeError);

    EXPECT_EQ(db().counters(store::Purpose::Call).rollbacks, before + 1);
}

TEST_P(Writes, TellTheEngineTimeAndPlace) {
    EXPECT_EQ(db().engine(), GetParam());
    EXPECT_THAT(db().engine_version(), HasSubstr(is_postgres() ? "PostgreSQL 1" : "SQLite 3."));
    EXPECT_THAT(db().location(), HasSubstr(is_postgres() ? "postgresql://" : "sqlite:"));
    EXPECT_GT(db().database_now_ms(), 1'700'000'000'000);
}

}  // namespace
}  // namespace compute::conformance
