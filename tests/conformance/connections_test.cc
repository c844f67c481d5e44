// PostgreSQL: connections that are lost, round trips, poolers, notices.
#include <condition_variable>
#include <mutex>

#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

using ::testing::Contains;

class Connections : public EngineTest {
protected:
    void SetUp() override {
        EngineTest::SetUp();
        store::Options options;
        options.pool_size = 1;
        killer_ = data().open(options);
    }

    void kill_others() {
        killer_->execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        );
    }

    std::unique_ptr<store::Database> killer_;
};
INSTANTIATE_TEST_SUITE_P(
    Engines, Connections, ::testing::Values(store::Engine::Postgres), support::engine_name
);

TEST_P(Connections, ThatWereEndedWhileIdleAreReplaced) {
    for (int i = 0; i < 3; ++i) {
        db().query(kCountItems);
        kill_others();
        db().execute(kInsertItem, {i, "item " + std::to_string(i)});
        kill_others();
        db().write([&](store::Transaction& tx) {
            tx.defer(kInsertItem, {i + 10, "item " + std::to_string(i + 10)});
        });
    }

    EXPECT_EQ(count_items(), 6);
}

TEST_P(Connections, ThatAreLostInATransactionMakeItRunAgain) {
    int runs = 0;
    db().write([&](store::Transaction& tx) {
        tx.execute(kInsertItem, {1, "one"});
        if (++runs == 1) {
            std::thread([&] { kill_others(); }).join();
        }
        tx.execute(kInsertItem, {2, "two"});
    });

    EXPECT_EQ(runs, 2);
    EXPECT_EQ(count_items(), 2);
    EXPECT_EQ(db().counters(store::Purpose::Call).retries, 1U);
}

TEST_P(Connections, ThatAreLostInASavepointMakeTheTransactionRunAgain) {
    int runs = 0;
    db().write([&](store::Transaction& tx) {
        try {
            tx.savepoint([&] {
                tx.execute(kInsertItem, {1, "one"});
                if (++runs == 1) {
                    std::thread([&] { kill_others(); }).join();
                }
                tx.execute(kInsertItem, {2, "two"});
            });
        } catch (const store::StoreBusy&) {
            // Swallowed: there is no transaction left that could go on.
        }
        tx.execute(kInsertItem, {3, "three"});
    });

    EXPECT_EQ(runs, 2);
    EXPECT_EQ(count_items(), 3);
}

TEST_P(Connections, ThatAreLostInAReadMakeItRunAgain) {
    int runs = 0;
    const auto count = db().read([&](store::Transaction& tx) {
        tx.query(kCountItems);
        if (++runs == 1) {
            std::thread([&] { kill_others(); }).join();
        }
        return tx.get_row(kCountItems).get_int(0);
    });

    EXPECT_EQ(runs, 2);
    EXPECT_EQ(count, 0);
}

TEST_P(Connections, ThatAreLostAtTheCommitLeaveTheOutcomeUnknownAndAreNotTriedAgain) {
    db().write([](store::Transaction& tx) {
        tx.script(
            "create function die() returns trigger language plpgsql as $$ begin "
            "perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; "
            "end $$;"
            "create constraint trigger late after insert on items deferrable initially deferred "
            "for each row execute function die();"
        );
    });
    int runs = 0;

    EXPECT_THROW(
        db().write([&](store::Transaction& tx) {
            ++runs;
            tx.execute(kInsertItem, {1, "one"});
        }),
        store::StoreBusy
    );
    EXPECT_THROW(db().execute(kInsertItem, {1, "one"}), store::StoreBusy);

    EXPECT_EQ(runs, 1);
    EXPECT_EQ(count_items(), 0);
}

TEST_P(Connections, WaitForAsFewAnswersAsCanBe) {
    const auto trips_of = [&](const std::function<void()>& function) {
        function();  // once before, so that everything is prepared
        const auto before = db().counters(store::Purpose::Call).round_trips;
        function();
        return db().counters(store::Purpose::Call).round_trips - before;
    };
    int id = 0;

    EXPECT_EQ(trips_of([&] { db().query(kCountItems); }), 1U);
    EXPECT_EQ(trips_of([&] { db().execute("update items set other = 1 where id = 999"); }), 1U);
    EXPECT_EQ(
        trips_of([&] { db().read([](store::Transaction& tx) { tx.query(kCountItems); }); }), 1U
    );
    EXPECT_EQ(
        trips_of([&] {
            db().write([&](store::Transaction& tx) {
                tx.query(kCountItems);
                tx.defer(kInsertItem, {++id, std::to_string(id)});
                tx.defer(kInsertItem, {++id, std::to_string(id)});
            });
        }),
        2U
    );
    EXPECT_EQ(
        trips_of([&] {
            db().write([&](store::Transaction& tx) {
                tx.defer(kInsertItem, {++id, std::to_string(id)});
            });
        }),
        1U
    );
    EXPECT_EQ(
        trips_of([&] {
            db().write([&](store::Transaction& tx) {
                tx.savepoint([&] { tx.query(kCountItems); });
                tx.defer(kInsertItem, {++id, std::to_string(id)});
            });
        }),
        2U
    );
    EXPECT_EQ(trips_of([&] { db().write([](store::Transaction&) {}); }), 0U);
}

TEST_P(Connections, BehindAPoolerUseNoPreparedStatements) {
    store::Options options;
    options.prepared = false;
    options.pool_size = 1;
    const auto pooled = data().open(options);

    pooled->execute(kInsertItem, {1, "one"});
    pooled->write([](store::Transaction& tx) {
        EXPECT_EQ(tx.get_row("select name from items where id = $1", {1}).get_text(0), "one");
        tx.defer(kInsertItem, {2, "two"});
        EXPECT_THROW(
            tx.savepoint([&] {
                tx.execute(kInsertItem, {2, "again"});
            }),
            store::UniqueViolation
        );
        tx.defer(kInsertItem, {3, "three"});
    });
    EXPECT_THROW(
        pooled->query("insert into items (id) values (9) returning id"), store::ReadOnlyViolation
    );
    EXPECT_THROW(
        pooled->read([](store::Transaction& tx) {
            tx.execute(kInsertItem, {9, "nine"});
        }),
        store::ReadOnlyViolation
    );

    EXPECT_EQ(
        pooled->read([](store::Transaction& tx) { return tx.get_row(kCountItems).get_int(0); }), 3
    );
    EXPECT_EQ(pooled->query("select count(*) from pg_prepared_statements").at(0).get_int(0), 0);
    EXPECT_EQ(pooled->query("show default_transaction_read_only").at(0).get_text(0), "off");
    EXPECT_NE(pooled->listen({"outbox"}, [](std::string_view) {}), nullptr);
    pooled->notify("outbox");
}

TEST_P(Connections, DoNotLeaveATransactionOpen) {
    db().read([](store::Transaction& tx) { tx.query(kCountItems); });
    EXPECT_THROW(
        db().write([](store::Transaction& tx) {
            tx.execute(kInsertItem, {1, "one"});
            throw not_found("nothing");
        }),
        ComputeError
    );
    db().query(kCountItems);  // what was sent without waiting is done when this is

    EXPECT_EQ(
        killer_
            ->query("select count(*) from pg_stat_activity where datname = current_database() and "
                    "state like 'idle in %'")
            .at(0)
            .get_int(0),
        0
    );
}

// Collects notices; waits for them with a deadline.
class Ears {
public:
    void hear(std::string_view channel) {
        const std::lock_guard lock(mutex_);
        heard_.emplace_back(channel);
        changed_.notify_all();
    }
    bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
            return heard_.size() >= count;
        });
    }
    std::vector<std::string> heard() {
        const std::lock_guard lock(mutex_);
        return heard_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> heard_;
};

TEST_P(Connections, HearNoticesOfOtherProcesses) {
    Ears ears;
    const auto listener =
        db().listen({"outbox", "delivery"}, [&](std::string_view channel) { ears.hear(channel); });
    const auto other = data().open();

    other->notify("outbox");
    EXPECT_TRUE(ears.wait_for(1));
    other->notify("delivery");
    other->notify("elsewhere");
    EXPECT_TRUE(ears.wait_for(2));

    EXPECT_THAT(ears.heard(), ::testing::ElementsAre("outbox", "delivery"));
}

TEST_P(Connections, MakeOneNoticeOfManyThatComeTogether) {
    Ears ears;
    const auto listener =
        db().listen({"outbox", "last"}, [&](std::string_view channel) { ears.hear(channel); });
    db().notify("outbox");
    EXPECT_TRUE(ears.wait_for(1));
    for (int i = 0; i < 10000; ++i) {
        db().notify("outbox");
    }
    EXPECT_TRUE(ears.wait_for(2));

    EXPECT_LT(ears.heard().size(), 100U);
}

TEST_P(Connections, HearEveryChannelAfterAReconnect) {
    Ears ears;
    const auto listener =
        db().listen({"outbox", "delivery"}, [&](std::string_view channel) { ears.hear(channel); });

    kill_others();

    EXPECT_TRUE(ears.wait_for(2));
    EXPECT_THAT(ears.heard(), Contains("outbox"));
    EXPECT_THAT(ears.heard(), Contains("delivery"));
    db().notify("outbox");
    EXPECT_TRUE(ears.wait_for(3));
}

TEST_P(Connections, RefuseChannelsThatAreNoPlainNames) {
    for (const char* channel : {"", "a b", "A", "a;drop table items", "a1"}) {
        EXPECT_EQ(
            code_of([&] { (void)db().listen({channel}, [](std::string_view) {}); }),
            ErrorCode::InternalError
        );
    }
}

}  // namespace
}  // namespace compute::conformance
