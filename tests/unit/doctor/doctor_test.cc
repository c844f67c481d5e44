#include "doctor/doctor.h"

#include <algorithm>
#include <fstream>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "doctor/transactions.h"
#include "store/errors.h"

#include "tests/support/fake_clock.h"
#include "tests/support/test_database.h"

namespace compute::doctor {
namespace {

using method::Finding;
using method::Severity;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

method::Reconciler reconciler(const std::string& name) {
    return {name, std::chrono::seconds(20), {}, {}};
}

class Doctor : public testing::TestWithParam<store::Engine> {
protected:
    explicit Doctor(support::Content content = support::Content::Migrated)
        : database_(GetParam(), content) {
        config_.database.url = database_.url();
        config_.secret = crypto::Secret("0123456789abcdef0123456789abcdef");
        method::Module module;
        module.id = "work";
        module.reconcilers = {reconciler("work.tick")};
        method::MethodRow row;
        row.action = "compute:work:do";
        module.planned = {{"work/do", method::Kind::Mutation, row}};
        modules_.push_back(std::move(module));
        // Heartbeats are compared with this clock; the database's own is the host's.
        clock_.set(SystemClock().now_ms());
    }

    Report examine_only(std::vector<std::string> only = {}) {
        const auto open = [this] {
            store::Options options;
            options.read_only = true;
            return database_.open(options);
        };
        return examine(
            {config_,
             clock_,
             modules_,
             store::built_in_migrations(),
             catalog_,
             open,
             std::move(only),
             is_deep_}
        );
    }
    std::vector<Finding> findings_of(const std::string& id) {
        std::vector<Finding> out;
        for (Finding& finding : examine_only({id}).findings) {
            if (finding.check == id) {
                out.push_back(std::move(finding));
            }
        }
        return out;
    }
    void execute(store::Sql sql, const store::Params& params = {}) {
        database_.database().execute(sql, params);
    }
    void beat(EpochMs at, std::optional<std::string> error = std::nullopt) {
        execute(
            "insert into reconciler_heartbeats (process, reconciler, interval_ms, started_at, "
            "beat_at, runs, failures, last_error)"
            " values ('host:1:1', 'work.tick', 20000, $1, $1, 1, 0, $2)",
            {at, error}
        );
    }

    support::TestDatabase database_;
    support::FakeClock clock_;
    config::Config config_;
    std::vector<method::Module> modules_;
    outbox::EventCatalog catalog_;
    bool is_deep_ = false;
};

class EmptyDoctor : public Doctor {
protected:
    EmptyDoctor() : Doctor(support::Content::Empty) {}
};

TEST_P(Doctor, AMigratedDatabaseHasNoError) {
    const Report report = examine_only();

    EXPECT_TRUE(report.is_ok()) << report_json(report).dump(2);
    EXPECT_THAT(report.checks, Contains("core.database"));
    EXPECT_THAT(report.checks, Contains("iam.policies"));
}

TEST_P(Doctor, ADeepRunReadsTheSame) {
    is_deep_ = true;

    EXPECT_TRUE(examine_only().is_ok());
}

TEST_P(Doctor, OnlyWhatIsAskedForRuns) {
    EXPECT_THAT(examine_only({"core.clock"}).checks, testing::ElementsAre("core.clock"));
}

TEST_P(Doctor, RefusesAnUnknownCheckWithTheNearest) {
    try {
        examine_only({"core.databse"});
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        EXPECT_EQ(error.hint(), "did you mean core.database?");
    }
}

TEST_P(Doctor, AClockThatIsOffIsTold) {
    clock_.set(SystemClock().now_ms() + 1000);
    EXPECT_THAT(findings_of("core.clock"), IsEmpty());

    clock_.set(SystemClock().now_ms() + 60'000);

    ASSERT_THAT(findings_of("core.clock"), Not(IsEmpty()));
    EXPECT_EQ(findings_of("core.clock").at(0).severity, Severity::Warning);
}

TEST_P(Doctor, ReconcilersAreAliveQuietOrFailing) {
    EXPECT_THAT(
        findings_of("core.reconcilers").at(0).message,
        HasSubstr("no process with the controllers role")
    );
    EXPECT_EQ(findings_of("core.reconcilers").at(0).severity, Severity::Warning);

    beat(clock_.now_ms() - 59'000);
    EXPECT_THAT(findings_of("core.reconcilers"), IsEmpty());

    clock_.advance(std::chrono::seconds(2));
    EXPECT_EQ(findings_of("core.reconcilers").at(0).count, 1);

    execute("delete from reconciler_heartbeats");
    beat(clock_.now_ms(), "boom");
    EXPECT_THAT(findings_of("core.reconcilers").at(0).message, HasSubstr("boom"));
}

TEST_P(Doctor, PoliciesThatDoNotLoadOrProtectNothingAreTold) {
    constexpr const char* kInsert =
        "insert into iam_policies (tenant_id, name, document) values ('root', $1, $2)";
    execute(
        kInsert,
        {"good",
         R"({"version":1,"statements":[{"effect":"deny","actions":["compute:work:*"],"resources":["*"]}]})"}
    );
    EXPECT_THAT(findings_of("iam.policies"), IsEmpty());

    execute(
        kInsert,
        {"idle",
         R"({"version":1,"statements":[{"effect":"deny","actions":["compute:wrok:do"],"resources":["*"]}]})"}
    );
    EXPECT_THAT(findings_of("iam.policies").at(0).message, HasSubstr("root/idle"));
    EXPECT_EQ(findings_of("iam.policies").at(0).severity, Severity::Warning);

    execute(kInsert, {"broken", "{"});
    EXPECT_EQ(findings_of("iam.policies").at(0).severity, Severity::Error);
}

TEST_P(Doctor, ACheckThatThrowsIsAnErrorAndTheOthersGoOn) {
    modules_[0].checks = {
        {"work.breaks",
         [](method::CheckContext&) -> std::vector<Finding> { throw internal_error("table gone"); }},
        {"work.runs",
         [](method::CheckContext&) {
             return std::vector<Finding>{{"work.runs", Severity::Info, "ran", "", 3, nullptr}};
         }},
    };

    const Report report = examine_only({"work.breaks", "work.runs"});

    ASSERT_EQ(report.findings.size(), 2U);
    EXPECT_EQ(report.findings[0].severity, Severity::Error);
    EXPECT_THAT(report.findings[0].message, HasSubstr("table gone"));
    EXPECT_EQ(report_json(report).at("findings").at(1).at("count"), 3);
}

TEST_P(Doctor, WhyADatabaseIsUnreachableIsSaidOnce) {
    const auto open = []() -> std::unique_ptr<store::Database> {
        throw store::StoreBusy("refused\n\tIs it running?", "database: cannot connect to x: refused");
    };

    const Report report =
        examine({config_, clock_, modules_, store::built_in_migrations(), catalog_, open, {}, false}
        );

    EXPECT_EQ(
        report.findings.at(0).message, "cannot be reached: database: cannot connect to x: refused"
    );
}

TEST_P(Doctor, AnUnreachableDatabaseIsAFinding) {
    const auto open = []() -> std::unique_ptr<store::Database> {
        throw store::StoreBusy("connection refused");
    };

    const Report report =
        examine({config_, clock_, modules_, store::built_in_migrations(), catalog_, open, {}, false}
        );

    EXPECT_FALSE(report.is_ok());
    EXPECT_EQ(report.findings.at(0).check, "core.database");
    EXPECT_THAT(report.findings.at(0).message, HasSubstr("connection refused"));
    EXPECT_THAT(report.checks, Contains("core.secret"));
}

TEST_P(Doctor, AMigrationThatChangedIsAnErrorAndEndsTheRest) {
    EXPECT_THAT(findings_of("core.migrations"), IsEmpty());
    execute("update schema_migrations set checksum = 'x' where name = 'core/0002_audit'");

    const Report report = examine_only();

    EXPECT_EQ(report.findings.at(0).check, "core.migrations");
    EXPECT_EQ(report.findings.at(0).severity, Severity::Error);
    EXPECT_THAT(report.findings.at(0).message, HasSubstr("core/0002_audit"));
    EXPECT_THAT(report.checks, Not(Contains("iam.policies")));
}

// Its holder is named, in whatever database of the cluster: events wait for it all the same.
TEST(DoctorOnPostgres, AnOpenTransactionIsSeenWithItsHolder) {
    support::TestDatabase database(store::Engine::Postgres);
    support::TestDatabase elsewhere(store::Engine::Postgres);
    std::promise<std::int64_t> begun;
    std::promise<void> over;
    std::jthread holder([&] {
        elsewhere.database().write([&](store::Transaction& tx) {
            begun.set_value(
                tx.get_row("select pg_backend_pid()::bigint, pg_current_xact_id()::text").get_int(0)
            );
            over.get_future().wait();
        });
    });
    const std::int64_t pid = begun.get_future().get();

    const auto open = open_transactions(database.database());
    over.set_value();

    const auto found = std::find_if(open.begin(), open.end(), [&](const OpenTransaction& one) {
        return one.pid == pid;
    });
    ASSERT_NE(found, open.end());
    EXPECT_GE(found->age_ms, 0);
    EXPECT_LT(found->age_ms, 300'000);
    EXPECT_FALSE(found->database.empty());
}

class SqliteDoctor : public Doctor {};

TEST_P(SqliteDoctor, NormalDurabilityIsTold) {
    EXPECT_THAT(findings_of("core.database"), IsEmpty());
    config_.database.synchronous = "normal";

    EXPECT_EQ(findings_of("core.database").at(0).severity, Severity::Warning);
}

TEST_P(SqliteDoctor, WhatWasNotReadForWantOfTimeIsTold) {
    execute(
        "create table large as with recursive n(n) as (select 1 union all select n + 1 from n "
        "where n < 200001) select n from n"
    );

    const auto findings = findings_of("core.database");
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].severity, Severity::Info);
    EXPECT_THAT(findings[0].message, HasSubstr("not read for want of time: large"));
    is_deep_ = true;
    EXPECT_THAT(findings_of("core.database"), IsEmpty());
}

TEST_P(SqliteDoctor, ADamagedFileIsAnError) {
    execute("create table damaged (id integer primary key, name text)");
    execute("create index damaged_name on damaged (name)");
    execute(
        "insert into damaged (name) with recursive n(n) as (select 1 union all select n + 1 from n "
        "where n < 5000) select 'name ' || n from n"
    );
    const std::int64_t page = database_.database()
                                  .query(
                                      "select rootpage from sqlite_schema where name = "
                                      "'damaged'"
                                  )
                                  .at(0)
                                  .get_int(0);
    database_.close();
    {
        std::fstream file(
            database_.url().substr(std::string("sqlite:").size()),
            std::ios::in | std::ios::out | std::ios::binary
        );
        // The cell pointers of the table's root page.
        file.seekp((page - 1) * 4096 + 12);
        file << std::string(64, '\xff');
    }

    const auto findings = findings_of("core.database");
    ASSERT_THAT(findings, Not(IsEmpty()));
    EXPECT_EQ(findings[0].severity, Severity::Error);
    EXPECT_THAT(findings[0].message, HasSubstr("damaged"));
}

TEST_P(EmptyDoctor, PendingMigrationsAreAnErrorAndEndTheRest) {
    execute("create table something_else (id bigint)"
    );  // an embedded file comes with its first use

    const Report report = examine_only();

    EXPECT_EQ(report.findings.at(0).check, "core.migrations");
    EXPECT_EQ(report.findings.at(0).fix, "better-compute migrate");
    EXPECT_THAT(report.checks, Not(Contains("iam.policies")));
}

INSTANTIATE_TEST_SUITE_P(Engines, Doctor, support::both_engines(), support::engine_name);
INSTANTIATE_TEST_SUITE_P(
    Engines, SqliteDoctor, testing::Values(store::Engine::Sqlite), support::engine_name
);
INSTANTIATE_TEST_SUITE_P(Engines, EmptyDoctor, support::both_engines(), support::engine_name);

}  // namespace
}  // namespace compute::doctor
