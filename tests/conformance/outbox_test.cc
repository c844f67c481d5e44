// The outbox on both engines: everything is read, in one order, by everyone.
#include "outbox/outbox.h"

#include <atomic>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/conformance/fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_rng.h"

namespace compute::conformance {
namespace {

using outbox::Position;
using outbox::StoredEvent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Outbox : public EngineTest {
protected:
    std::string append(store::Transaction& tx, const std::string& type) {
        return outbox::append(
            tx,
            {.type = type,
             .tenant_id = TenantId("acme"),
             .subject = "pool/1",
             .data = std::make_shared<const Json>(Json{{"name", type}})},
            clock_,
            rng_
        );
    }
    void append_one(const std::string& type) {
        db().write([&](store::Transaction& tx) { append(tx, type); });
    }
    std::vector<StoredEvent> read_after(Position cursor, int limit = 1000) {
        return db().read([&](store::Transaction& tx) {
            return outbox::read_after(tx, cursor, limit);
        });
    }
    std::vector<std::string> types(const std::vector<StoredEvent>& events) {
        std::vector<std::string> out;
        for (const auto& event : events) {
            out.push_back(event.type);
        }
        return out;
    }
    Position tail() {
        return db().read([](store::Transaction& tx) { return outbox::tail(tx); });
    }
    std::string mark() {
        return db().read([](store::Transaction& tx) { return outbox::visibility_mark(tx); });
    }
    bool was_visible(const StoredEvent& event, const std::string& mark) {
        return outbox::was_visible(event.position, mark, GetParam());
    }

    support::FakeClock clock_;
    support::SeededRng rng_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Outbox, support::both_engines(), support::engine_name);

TEST_P(Outbox, GivesBackWhatWasAppended) {
    const auto id = db().write([&](store::Transaction& tx) { return append(tx, "pool.created"); });

    const auto events = read_after({});

    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].id, id);
    EXPECT_EQ(events[0].type, "pool.created");
    EXPECT_EQ(events[0].tenant_id, TenantId("acme"));
    EXPECT_EQ(events[0].subject, "pool/1");
    EXPECT_EQ(events[0].time, clock_.now_ms());
    EXPECT_EQ(events[0].data, R"({"name":"pool.created"})");
}

TEST_P(Outbox, HoldsNothingOfATransactionThatRolledBack) {
    EXPECT_THROW(
        db().write([&](store::Transaction& tx) {
            append(tx, "pool.created");
            throw not_found("nothing");
        }),
        ComputeError
    );
    db().write([&](store::Transaction& tx) {
        EXPECT_THROW(
            tx.savepoint([&] {
                append(tx, "pool.undone");
                throw not_found("nothing");
            }),
            ComputeError
        );
        append(tx, "pool.kept");
    });

    EXPECT_THAT(types(read_after({})), ElementsAre("pool.kept"));
}

TEST_P(Outbox, KeepsTheEventsOfATransactionTogetherAndInOrder) {
    db().write([&](store::Transaction& tx) {
        append(tx, "a.1");
        append(tx, "a.2");
        tx.savepoint([&] { append(tx, "a.3"); });
    });
    append_one("b.1");

    const auto events = read_after({});

    EXPECT_THAT(types(events), ElementsAre("a.1", "a.2", "a.3", "b.1"));
    EXPECT_EQ(events[0].position.txid, events[2].position.txid);
    EXPECT_LT(events[2].position.txid, events[3].position.txid);
    EXPECT_LT(events[0].position, events[1].position);
}

TEST_P(Outbox, ReadsBehindACursorUpToALimit) {
    for (const char* type : {"a.1", "a.2", "a.3", "a.4"}) {
        append_one(type);
    }

    const auto first = read_after({}, 3);
    EXPECT_THAT(types(first), ElementsAre("a.1", "a.2", "a.3"));
    EXPECT_THAT(types(read_after(first.back().position, 3)), ElementsAre("a.4"));
    EXPECT_THAT(read_after(tail()), IsEmpty());
}

TEST_P(Outbox, HasATailThatNothingLaterComesBefore) {
    const Position empty = tail();
    append_one("a.1");
    const Position one = tail();
    append_one("a.2");

    EXPECT_THAT(types(read_after(empty)), ElementsAre("a.1", "a.2"));
    EXPECT_THAT(types(read_after(one)), ElementsAre("a.2"));
    EXPECT_EQ(tail(), read_after({}).back().position);
    EXPECT_LT(empty, one);
}

TEST_P(Outbox, MarksWhatWasVisible) {
    append_one("a.before");
    const std::string between = mark();
    append_one("a.after");

    const auto events = read_after({});

    EXPECT_TRUE(was_visible(events[0], between));
    EXPECT_FALSE(was_visible(events[1], between));
    EXPECT_FALSE(was_visible(events[1], "0" + std::string(is_postgres() ? ":0:" : "")));
}

TEST_P(Outbox, MarksTheEventsOfTheMarkingTransactionAsNotVisible) {
    std::string own;
    db().write([&](store::Transaction& tx) {
        own = outbox::visibility_mark(tx);
        append(tx, "webhook.created");
    });

    EXPECT_FALSE(was_visible(read_after({}).at(0), own));
}

TEST_P(Outbox, PrunesWhatIsOldAndPassed) {
    append_one("a.1");
    append_one("a.2");
    const Position passed = tail();
    append_one("a.3");
    const EpochMs before = clock_.now_ms() + 1;
    const auto prune = [&](EpochMs time, Position position, int limit) {
        return db().write([&](store::Transaction& tx) {
            return outbox::prune(tx, time, position, limit);
        });
    };

    EXPECT_EQ(prune(clock_.now_ms(), passed, 10), 0);
    EXPECT_EQ(prune(before, {}, 10), 0);
    EXPECT_EQ(prune(before, passed, 1), 1);
    EXPECT_THAT(types(read_after({})), ElementsAre("a.2", "a.3"));
    EXPECT_EQ(prune(before, passed, 10), 1);
    EXPECT_THAT(types(read_after({})), ElementsAre("a.3"));
    EXPECT_EQ(prune(before, tail(), 10), 1);
    EXPECT_GE(tail(), passed);
    append_one("a.4");
    EXPECT_THAT(types(read_after(passed)), ElementsAre("a.4"));
}

TEST_P(Outbox, LosesNothingWithManyWritersAndAReader) {
    constexpr int kWriters = 8;
    constexpr int kEach = 60;
    std::atomic<int> running{kWriters};
    std::vector<std::thread> writers;
    for (int w = 0; w < kWriters; ++w) {
        writers.emplace_back([&, w] {
            for (int i = 0; i < kEach; ++i) {
                try {
                    db().write([&](store::Transaction& tx) {
                        append(tx, "w" + std::to_string(w) + ".e" + std::to_string(i));
                        if (i % 3 == 0) {
                            tx.query(kCountItems
                            );  // the event is sent, and the transaction stays open a little
                        }
                        if (i % 7 == 0) {
                            throw not_found("rolled back");
                        }
                    });
                } catch (const ComputeError& error) {
                    EXPECT_EQ(error.code(), ErrorCode::NotFound);
                }
            }
            --running;
        });
    }
    std::vector<StoredEvent> seen;
    for (bool is_last = false; !is_last;) {
        is_last = running == 0;  // looked at before the read: what was committed by then is in it
        for (auto& event : read_after(seen.empty() ? Position{} : seen.back().position, 50)) {
            is_last = false;
            seen.push_back(std::move(event));
        }
    }
    for (auto& writer : writers) {
        writer.join();
    }

    const auto all = read_after({}, 100'000);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kWriters * (kEach - (kEach + 6) / 7)));
    EXPECT_EQ(types(seen), types(all));
}

TEST_P(Outbox, IsNotChangedByAStartInItsOwnCluster) {
    append_one("a.1");

    EXPECT_FALSE(outbox::adopt_cluster(db()));
    EXPECT_FALSE(outbox::adopt_cluster(db()));
    append_one("a.2");

    const auto events = read_after({});
    EXPECT_THAT(types(events), ElementsAre("a.1", "a.2"));
    EXPECT_LT(events[1].position.txid - events[0].position.txid, 1'000'000);
}

class OutboxPostgres : public Outbox {};
INSTANTIATE_TEST_SUITE_P(
    Engines, OutboxPostgres, ::testing::Values(store::Engine::Postgres), support::engine_name
);

TEST_P(OutboxPostgres, HoldsLaterEventsBackWhileALowerTransactionIsOpen) {
    db().write([&](store::Transaction& tx) {
        tx.query("select pg_current_xact_id()");  // the lower id; nothing is appended yet
        std::thread([&] { append_one("fast.1"); }).join();

        std::thread([&] { EXPECT_THAT(types(read_after({})), IsEmpty()); }).join();
        append(tx, "slow.1");
    });

    EXPECT_THAT(types(read_after({})), ElementsAre("slow.1", "fast.1"));
}

TEST_P(OutboxPostgres, MarksTheTransactionsUnderWayAsNotVisible) {
    std::string while_open;
    db().write([&](store::Transaction& tx) {
        append(tx, "slow.1");
        tx.query(kCountItems);
        std::thread([&] {
            append_one("fast.1");
            while_open = mark();
        }).join();
    });

    const auto events = read_after({});
    ASSERT_THAT(types(events), ElementsAre("slow.1", "fast.1"));
    EXPECT_FALSE(was_visible(events[0], while_open));
    EXPECT_TRUE(was_visible(events[1], while_open));
}

// What a dump that is restored into a new cluster looks like: rows and marks with numbers that the
// new cluster has not reached.
class OutboxRestore : public OutboxPostgres {
protected:
    void pretend_restore(std::int64_t ahead, const std::optional<std::string>& identifier) {
        db().write([&](store::Transaction& tx) {
            tx.execute("update outbox_events set txid = txid + $1", {ahead});
            tx.execute(
                "update outbox_state set highest_txid = highest_txid + $1, system_identifier = $2",
                {ahead, identifier}
            );
        });
    }
};
INSTANTIATE_TEST_SUITE_P(
    Engines, OutboxRestore, ::testing::Values(store::Engine::Postgres), support::engine_name
);

TEST_P(OutboxRestore, GoesOnBehindEveryPositionOfTheOldCluster) {
    outbox::adopt_cluster(db());
    append_one("old.1");
    pretend_restore(1'000'000, "another");
    const std::string old_mark =
        "2000000:2000500:2000100";  // of a transaction that ran after the last event

    EXPECT_TRUE(outbox::adopt_cluster(db()));
    EXPECT_FALSE(outbox::adopt_cluster(db()));
    const auto old_events = read_after({});
    ASSERT_THAT(types(old_events), ElementsAre("old.1"));
    append_one("new.1");

    const auto fresh = read_after(old_events.back().position);
    ASSERT_THAT(types(fresh), ElementsAre("new.1"));
    EXPECT_FALSE(was_visible(fresh[0], old_mark));
    EXPECT_TRUE(was_visible(fresh[0], mark()));
    EXPECT_TRUE(was_visible(old_events[0], mark()));
}

TEST_P(OutboxRestore, IsNoticedByTheNumbersAloneWhenTheIdentifierIsNotKnown) {
    append_one("old.1");
    pretend_restore(1'000'000'000, std::nullopt);

    EXPECT_TRUE(outbox::adopt_cluster(db()));
    append_one("new.1");

    EXPECT_THAT(types(read_after({})), ElementsAre("old.1", "new.1"));
}

TEST_P(OutboxRestore, WaitsForTransactionsThatAppendWithTheOldOffset) {
    append_one("old.1");
    pretend_restore(1'000'000, "another");
    std::thread adopter;
    db().write([&](store::Transaction& tx) {
        append(tx, "straggler.1");
        tx.query(kCountItems);  // sent, with the old offset
        adopter = std::thread([&] { EXPECT_TRUE(outbox::adopt_cluster(db())); });
        while (tx.get_row("select count(*) from pg_locks where not granted and relation = "
                          "'outbox_events'::regclass")
                   .get_int(0) == 0) {
            std::this_thread::yield();
        }
    });
    adopter.join();
    append_one("new.1");

    EXPECT_EQ(read_after({}).back().type, "new.1");
    EXPECT_EQ(read_after({}).size(), 3U);
}

TEST_P(OutboxRestore, IsDoneOnceByTwoProcessesAtOnce) {
    append_one("old.1");
    pretend_restore(1'000'000, "another");
    std::atomic<int> raised{0};
    std::thread other([&] { raised += outbox::adopt_cluster(db()) ? 1 : 0; });
    raised += outbox::adopt_cluster(db()) ? 1 : 0;
    other.join();

    EXPECT_EQ(raised, 1);
}

}  // namespace
}  // namespace compute::conformance
