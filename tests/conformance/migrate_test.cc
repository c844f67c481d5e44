// Migrations: applied once, in order, by one process at a time, and never onto something else than
// expected.
#include "store/migrate.h"

#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

using store::Migration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Migrations : public ::testing::TestWithParam<store::Engine> {
protected:
    store::Database& db() { return data_.database(); }

    static std::vector<std::string> names(const std::vector<store::AppliedMigration>& applied) {
        std::vector<std::string> out;
        for (const auto& entry : applied) {
            out.push_back(entry.name);
        }
        return out;
    }
    static Migration migration(std::string_view name, std::string_view text) {
        return {name, text, text};
    }

    const Migration first_ =
        migration("a/0001_one", "create table one (id bigint); create table two (id bigint);");
    const Migration second_ =
        migration("a/0002_two", "-- a comment\nalter table one add column name text;\n");
    support::TestDatabase data_{GetParam(), support::Content::Empty};
};
INSTANTIATE_TEST_SUITE_P(Engines, Migrations, support::both_engines(), support::engine_name);

TEST_P(Migrations, AreAllPendingOnAnEmptyDatabase) {
    const auto status = store::migration_status(db(), {first_, second_});

    EXPECT_THAT(status.applied, IsEmpty());
    EXPECT_THAT(status.pending, ElementsAre("a/0001_one", "a/0002_two"));
    EXPECT_THAT(status.drift, IsEmpty());
}

TEST_P(Migrations, AreAppliedInOrderAndOnce) {
    std::vector<std::string> announced;
    const auto announce = [&](std::string_view name) { announced.emplace_back(name); };

    EXPECT_THAT(store::migrate_up(db(), {first_}, 1000, announce), ElementsAre("a/0001_one"));
    EXPECT_THAT(
        store::migrate_up(db(), {first_, second_}, 2000, announce), ElementsAre("a/0002_two")
    );
    EXPECT_THAT(store::migrate_up(db(), {first_, second_}, 3000, announce), IsEmpty());

    const auto status = store::migration_status(db(), {first_, second_});
    EXPECT_THAT(announced, ElementsAre("a/0001_one", "a/0002_two"));
    EXPECT_THAT(names(status.applied), ElementsAre("a/0001_one", "a/0002_two"));
    EXPECT_EQ(status.applied.at(0).applied_at, 1000);
    EXPECT_EQ(status.applied.at(1).applied_at, 2000);
    EXPECT_EQ(status.applied.at(0).checksum.size(), 64U);
    EXPECT_THAT(status.pending, IsEmpty());
    db().execute("insert into one (id, name) values (1, 'x')");
}

TEST_P(Migrations, OfALaterModuleMayComeBeforeOnesThatAreApplied) {
    store::migrate_up(db(), {first_}, 1000);
    const Migration other = migration("0/0001_other", "create table other (id bigint)");

    EXPECT_THAT(store::migrate_up(db(), {other, first_}, 2000), ElementsAre("0/0001_other"));
}

TEST_P(Migrations, ThatFailAreNotRecordedAndLeaveNothing) {
    const Migration broken = migration(
        "a/0002_broken", "create table three (id bigint); insert into missing values (1);"
    );

    EXPECT_THROW(store::migrate_up(db(), {first_, broken}, 1000), ComputeError);

    const auto status = store::migration_status(db(), {first_, broken});
    EXPECT_THAT(names(status.applied), ElementsAre("a/0001_one"));
    EXPECT_THAT(status.pending, ElementsAre("a/0002_broken"));
    EXPECT_THROW(db().query("select * from three"), ComputeError);
}

TEST_P(Migrations, WhoseTextHasChangedStopEverything) {
    store::migrate_up(db(), {first_}, 1000);
    const Migration edited = migration("a/0001_one", "create table one (id bigint, edited text);");

    const auto status = store::migration_status(db(), {edited, second_});
    EXPECT_THAT(status.drift, ElementsAre(HasSubstr("a/0001_one")));
    try {
        store::migrate_up(db(), {edited, second_}, 2000);
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        EXPECT_THAT(error.message(), HasSubstr("a/0001_one"));
    }
    EXPECT_THAT(
        store::migration_status(db(), {first_, second_}).pending, ElementsAre("a/0002_two")
    );
}

TEST_P(Migrations, UnknownToThisBinaryAreDrift) {
    store::migrate_up(db(), {first_, second_}, 1000);

    EXPECT_THAT(
        store::migration_status(db(), {first_}).drift, ElementsAre(HasSubstr("a/0002_two"))
    );
    EXPECT_THROW(store::migrate_up(db(), {first_}, 2000), ComputeError);
}

TEST_P(Migrations, OfTwoProcessesAtOnceAreAppliedOnce) {
    const auto other = data_.open();
    std::vector<std::string> mine;
    std::vector<std::string> theirs;
    std::thread thread([&] { theirs = store::migrate_up(*other, {first_, second_}, 1000); });
    mine = store::migrate_up(db(), {first_, second_}, 1000);
    thread.join();

    EXPECT_EQ(mine.size() + theirs.size(), 2U);
    EXPECT_EQ(store::migration_status(db(), {first_, second_}).applied.size(), 2U);
}

TEST_P(Migrations, BuiltInApplyToAnEmptyDatabase) {
    const auto& all = store::built_in_migrations();

    EXPECT_EQ(store::migrate_up(db(), all, 1000).size(), all.size());

    const auto status = store::migration_status(db(), all);
    EXPECT_THAT(status.pending, IsEmpty());
    EXPECT_THAT(status.drift, IsEmpty());
}

}  // namespace
}  // namespace compute::conformance
