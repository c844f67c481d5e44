#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/audit/rig.h"

namespace compute::audit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Sealing : public AuditTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Sealing, support::both_engines(), support::engine_name);

std::vector<Checkpoint> all_checkpoints(Rig& rig) {
    return rig.db().read([](store::Transaction& tx) { return read_checkpoints(tx, 0, 1'000); });
}

TEST_P(Sealing, MakesACheckpointForEachTenantThatHasRows) {
    rig.append_rows("acme", 3);
    rig.append_row("root");
    rig.append_row("acme");

    const Sealed sealed = seal_now(rig.tools());

    EXPECT_EQ(sealed.rows, 5);
    EXPECT_EQ(sealed.checkpoints, 2);
    const auto checkpoints = all_checkpoints(rig);
    ASSERT_EQ(checkpoints.size(), 2U);
    EXPECT_EQ(checkpoints[0].tenant_id, "acme");
    EXPECT_EQ(checkpoints[0].rows, 4);
    EXPECT_EQ(checkpoints[1].tenant_id, "root");
    EXPECT_EQ(checkpoints[1].previous, checkpoints[0].hash());
    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.checkpoints, 2);
    EXPECT_EQ(done.rows, 5);
    EXPECT_EQ(done.unsealed, 0);
}

TEST_P(Sealing, RowsOfAnHourAreSealedOnceAndLaterOnesInTheNext) {
    rig.append_row("acme");
    EXPECT_EQ(seal_due(rig.tools()).rows, 1);
    rig.append_row("acme");

    EXPECT_EQ(seal_due(rig.tools()).rows, 0) << "the hour is done";
    EXPECT_EQ(rig.check().unsealed, 1);

    rig.pass_hour();
    EXPECT_EQ(seal_due(rig.tools()).rows, 1);
    const auto checkpoints = all_checkpoints(rig);
    ASSERT_EQ(checkpoints.size(), 2U);
    EXPECT_EQ(checkpoints[1].tenant_number, 2);
    EXPECT_EQ(checkpoints[1].tenant_previous, checkpoints[0].hash());
    EXPECT_TRUE(rig.check().is_ok());
}

TEST_P(Sealing, AnHourWithoutRowsMakesNoCheckpoint) {
    EXPECT_EQ(seal_due(rig.tools()).checkpoints, 0);
    rig.append_row("acme");
    EXPECT_EQ(seal_due(rig.tools()).checkpoints, 0);

    EXPECT_THAT(all_checkpoints(rig), IsEmpty());
    EXPECT_EQ(rig.check().unsealed, 1);
}

TEST_P(Sealing, AClockThatWasFarAheadDoesNotStopIt) {
    rig.clock.advance(std::chrono::hours(24 * 365));
    rig.append_row("acme");
    EXPECT_EQ(seal_due(rig.tools()).rows, 1);
    rig.clock.advance(-std::chrono::hours(24 * 365));
    rig.append_row("acme");

    EXPECT_EQ(seal_due(rig.tools()).rows, 1);
}

TEST_P(Sealing, AnotherProcessesClockThatIsALittleAheadSealsTheHourForBoth) {
    rig.pass_hour();
    ASSERT_EQ(seal_due(rig.tools()).rows, 0);
    rig.append_row("acme");

    rig.clock.advance(-std::chrono::milliseconds(1));

    EXPECT_EQ(seal_due(rig.tools()).rows, 0);
}

// A transaction that began before the sealing and commits after it.
TEST_P(Sealing, WhatCommitsLateGoesIntoTheNextCheckpoint) {
    const std::string early = rig.append_row("acme");
    const auto second = rig.data.open({});
    std::promise<void> has_written;
    std::promise<void> may_commit;
    std::string late;
    std::jthread slow([&] {
        second->write([&](store::Transaction& tx) {
            late = rig.append_in(tx, "acme");
            tx.query("select 1");  // deferred statements are sent
            has_written.set_value();
            if (GetParam() == store::Engine::Postgres) {
                may_commit.get_future().wait();
            }
        });
    });
    has_written.get_future().wait();
    if (GetParam() == store::Engine::Sqlite) {
        slow.join();  // the single writer: nothing commits beside it
    } else {
        rig.append_row("acme");  // commits first, and must wait for the slow one
    }

    const std::int64_t first = seal_now(rig.tools()).rows;
    if (GetParam() == store::Engine::Postgres) {
        EXPECT_EQ(first, 1);
        EXPECT_EQ(rig.check().unsealed, 1) << "the late row is not visible yet";
        may_commit.set_value();
        slow.join();
        EXPECT_EQ(seal_now(rig.tools()).rows, 2);
    }

    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.unsealed, 0);
    EXPECT_EQ(done.rows, GetParam() == store::Engine::Postgres ? 3 : 2);
}

TEST_P(Sealing, OfSeveralProcessesOneSealsEachRow) {
    for (int round = 0; round < 5; ++round) {
        rig.append_rows("acme", 4);
        rig.append_rows("globex", 4);
        std::atomic<std::int64_t> rows{0};
        {
            std::vector<std::unique_ptr<store::Database>> databases;
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                // One process has an SQLite file; there the threads share the handle.
                store::Database* database = &rig.db();
                if (GetParam() == store::Engine::Postgres) {
                    database = databases.emplace_back(rig.data.open({})).get();
                }
                threads.emplace_back([&rig = rig, &rows, database] {
                    rows += seal_now({*database, rig.box, rig.clock, rig.rng, rig.log}).rows;
                });
            }
            threads.clear();
        }
        EXPECT_EQ(rows, 8);
    }

    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.rows, 40);
    EXPECT_EQ(done.checkpoints, 10);
}

TEST_P(Sealing, ABusyHourIsSealedInSteps) {
    rig.append_row("acme");
    constexpr store::Sql kCopies(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < $1) "
        "insert into audit_events (id, time, tenant_id, identity_id, identity_kind, "
        "actor_tenant_id, session_id, session_kind, method, action, resource_type, resource_id, "
        "decision_reason, request_id) select 'aud_' || i, time, 'tenant-' || (i % 7), identity_id, "
        "identity_kind, actor_tenant_id, session_id, session_kind, method, action, resource_type, "
        "resource_id, decision_reason, request_id from n cross join (select * from audit_events "
        "limit 1) one"
    );
    rig.execute(kCopies, {kSealRows + 600});

    const Sealed first = seal_due(rig.tools());
    EXPECT_EQ(first.rows, kSealRows);
    EXPECT_TRUE(first.is_full);
    const Sealed second = seal_due(rig.tools());
    EXPECT_EQ(second.rows, 601);
    EXPECT_FALSE(second.is_full);
    EXPECT_EQ(seal_due(rig.tools()).rows, 0);

    const Verification done = rig.check();
    EXPECT_TRUE(done.is_ok()) << words_of(done);
    EXPECT_EQ(done.rows, kSealRows + 601);
    EXPECT_EQ(done.checkpoints, 15);
}

// What a writer pays: no trigger, and as many indexes as before the trail was sealed.
TEST_P(Sealing, WritersPayNothing) {
    constexpr store::Sql kIndexes(
        "select count(*) from sqlite_master where tbl_name = 'audit_events' and type = 'index'",
        "select count(*) from pg_indexes where tablename = 'audit_events'"
    );
    constexpr store::Sql kTriggers(
        "select count(*) from sqlite_master where tbl_name = 'audit_events' and type = 'trigger'",
        "select count(*) from pg_trigger where tgrelid = 'audit_events'::regclass"
    );
    // The rowid is no index of its own on SQLite; the one over ids is.
    EXPECT_EQ(rig.db().query(kIndexes)[0].get_int(0), GetParam() == store::Engine::Sqlite ? 4 : 5);
    EXPECT_EQ(rig.db().query(kTriggers)[0].get_int(0), 0);

    rig.append_row("acme");
    seal_now(rig.tools());
    const auto before = rig.db().counters(store::Purpose::Call).statements;
    rig.append_row("acme");
    EXPECT_EQ(rig.db().counters(store::Purpose::Call).statements - before, 1U);
}

TEST_P(Sealing, SaysTheHashInTheLog) {
    rig.append_row("acme");
    seal_now(rig.tools());

    const Verification done = rig.check();
    EXPECT_TRUE(rig.log.mentions("audit.sealed"));
    EXPECT_TRUE(rig.log.mentions(done.last_hash));
}

}  // namespace
}  // namespace compute::audit
