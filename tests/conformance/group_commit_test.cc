// The writer of SQLite: many callers, one commit; and what becomes of the others when one of them
// fails.
#include <atomic>
#include <latch>

#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

class GroupCommit : public EngineTest {
protected:
    // Keeps the writer's thread busy until release(), so that what is queued meanwhile becomes one
    // group.
    void hold_writer() {
        holder_ = std::thread([this] {
            db().write([this](store::Transaction&) {
                is_held_ = true;  // may run again with the others of its group
                released_.wait();
            });
        });
        while (!is_held_) {
            std::this_thread::yield();
        }
    }

    void queue(std::function<void(store::Transaction&)> function) {
        const std::uint64_t before = db().counters(store::Purpose::Call).write_transactions;
        threads_.emplace_back([this, function = std::move(function)] {
            try {
                db().write(function);
                ++succeeded_;
            } catch (const ComputeError&) {
                ++failed_;
            }
        });
        // Counted right before it is queued: enough to keep the order in which the tests queue.
        while (db().counters(store::Purpose::Call).write_transactions == before) {
            std::this_thread::yield();
        }
    }

    void release() {
        released_.count_down();
        holder_.join();
        for (auto& thread : threads_) {
            thread.join();
        }
    }

    std::latch released_{1};
    std::atomic<bool> is_held_{false};
    std::thread holder_;
    std::vector<std::thread> threads_;
    std::atomic<int> succeeded_{0};
    std::atomic<int> failed_{0};
};
INSTANTIATE_TEST_SUITE_P(
    Engines, GroupCommit, ::testing::Values(store::Engine::Sqlite), support::engine_name
);

TEST_P(GroupCommit, AnswersManyCallersWithFewCommits) {
    const auto before = db().counters(store::Purpose::Call).commits;
    hold_writer();
    for (int i = 0; i < 40; ++i) {
        queue([i](store::Transaction& tx) {
            tx.execute(kInsertItem, {i, "item " + std::to_string(i)});
        });
    }
    release();

    EXPECT_EQ(succeeded_, 40);
    EXPECT_EQ(count_items(), 40);
    EXPECT_LE(db().counters(store::Purpose::Call).commits - before, 5U);
}

TEST_P(GroupCommit, IsNotHurtByAMemberThatFails) {
    db().execute(kInsertItem, {1000, "taken"});
    hold_writer();
    for (int i = 0; i < 20; ++i) {
        queue([i](store::Transaction& tx) {
            tx.execute(kInsertItem, {i, "item " + std::to_string(i)});
            if (i % 5 == 0) {
                tx.execute(kInsertItem, {i + 100, "taken"});
            }
        });
    }
    release();

    EXPECT_EQ(succeeded_, 16);
    EXPECT_EQ(failed_, 4);
    EXPECT_EQ(count_items(), 17);
}

TEST_P(GroupCommit, RunsEachOnceWhenTheMemberThatFailsHasWrittenNothing) {
    std::atomic<int> runs{0};
    db().execute(kInsertItem, {1000, "taken"});
    hold_writer();
    for (int i = 0; i < 20; ++i) {
        queue([&, i](store::Transaction& tx) {
            ++runs;
            if (i % 5 == 0) {
                tx.execute(kInsertItem, {i + 100, "taken"});
            }
            tx.execute(kInsertItem, {i, "item " + std::to_string(i)});
        });
    }
    release();

    EXPECT_EQ(succeeded_, 16);
    EXPECT_EQ(failed_, 4);
    EXPECT_EQ(runs, 20);
    EXPECT_EQ(count_items(), 17);
}

TEST_P(GroupCommit, KeepsNothingOfAMemberThatFailsAfterItHasWritten) {
    std::atomic<int> hooks{0};
    hold_writer();
    for (int i = 0; i < 20; ++i) {
        queue([&, i](store::Transaction& tx) {
            tx.after_commit([&] { ++hooks; });
            tx.execute(kInsertItem, {i, "item " + std::to_string(i)});
            if (i == 3 || i == 12) {
                throw not_found("nothing");
            }
        });
    }
    release();

    EXPECT_EQ(succeeded_, 18);
    EXPECT_EQ(failed_, 2);
    EXPECT_EQ(hooks, 18);
    EXPECT_EQ(count_items(), 18);
}

TEST_P(GroupCommit, TakesBackATableThatAFailingMemberMade) {
    hold_writer();
    queue([](store::Transaction& tx) { tx.execute(kInsertItem, {1, "one"}); });
    queue([](store::Transaction& tx) {
        tx.execute("create table half_made (id bigint)");
        throw not_found("nothing");
    });
    release();

    EXPECT_EQ(count_items(), 1);
    EXPECT_THROW(db().query("select * from half_made"), ComputeError);
}

// A member's failure must be its own: what it met was another's, who is undone as well.
TEST_P(GroupCommit, JudgesAMemberByWhatIsCommitted) {
    hold_writer();
    queue([](store::Transaction& tx) {
        tx.execute(kInsertItem, {1, "one"});
        tx.execute(kInsertItem, {2, "name"});
        tx.execute(kInsertItem, {3, "name"});
    });
    queue([](store::Transaction& tx) {
        tx.execute(kInsertItem, {4, "four"});
        tx.execute(kInsertItem, {5, "name"});
    });
    release();

    EXPECT_EQ(succeeded_, 1);
    EXPECT_EQ(count_items(), 2);
}

TEST_P(GroupCommit, RunsTheOthersAgainWhenOneTakesTheWholeTransactionWithIt) {
    db().execute(kInsertItem, {1000, "taken"});
    std::atomic<int> runs{0};
    std::atomic<int> hooks{0};
    hold_writer();
    for (int i = 0; i < 20; ++i) {
        queue([&, i](store::Transaction& tx) {
            ++runs;
            tx.execute(kInsertItem, {i, "item " + std::to_string(i)});
            tx.after_commit([&] { ++hooks; });
            if (i == 7 || i == 15) {
                tx.execute(
                    "insert or rollback into items (id, name) values ($1, $2)", {i + 100, "taken"}
                );
            }
        });
    }
    release();

    EXPECT_EQ(succeeded_, 18);
    EXPECT_EQ(failed_, 2);
    EXPECT_EQ(count_items(), 19);
    EXPECT_EQ(hooks, 18);
    EXPECT_GT(runs, 20);
    EXPECT_GT(db().counters(store::Purpose::Call).retries, 0U);
}

TEST_P(GroupCommit, GoesOnAfterAMemberHasLostTheTransactionInASavepoint) {
    db().execute(kInsertItem, {1000, "taken"});

    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            tx.execute(kInsertItem, {1, "one"});
            try {
                tx.savepoint([&] {
                    tx.execute("insert or rollback into items (id, name) values (2, 'taken')");
                });
            } catch (const store::UniqueViolation&) {
                // No savepoint is left to go on from.
            }
            tx.execute(kInsertItem, {3, "three"});
        }),
        store::UniqueViolation
    );
    db().execute(kInsertItem, {4, "four"});

    EXPECT_EQ(count_items(), 2);
}

TEST_P(GroupCommit, FinishesWhatIsQueuedWhenTheDatabaseIsClosed) {
    auto other = data().open();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            other->execute(kInsertItem, {i, "item " + std::to_string(i)});
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    other.reset();

    EXPECT_EQ(count_items(), 8);
}

TEST(MemoryDatabase, SharesOneConnectionBetweenReadsAndWrites) {
    store::Options options;
    options.url = "sqlite::memory:";
    const auto database = store::open_database(options);
    database->execute("create table items (id bigint primary key, name text)");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 20; ++k) {
                database->execute(kInsertItem, {i * 100 + k, "item"});
                database->read([](store::Transaction& tx) {
                    return tx.get_row(kCountItems).get_int(0);
                });
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(database->query(kCountItems).at(0).get_int(0), 80);
    EXPECT_THROW(
        database->query("insert into items (id) values (999) returning id"),
        store::ReadOnlyViolation
    );
    EXPECT_EQ(database->query(kCountItems).at(0).get_int(0), 80);
}

}  // namespace
}  // namespace compute::conformance
