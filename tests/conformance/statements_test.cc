// Statements: what goes in, what comes out, and that texts are prepared once.
#include <cmath>
#include <limits>

#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

using ::testing::ElementsAre;

class Statements : public EngineTest {
protected:
    store::Row row_of(store::Sql sql, const store::Params& params = {}) {
        return db().query(sql, params).at(0);
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, Statements, support::both_engines(), support::engine_name);

TEST_P(Statements, KeepValuesExactly) {
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    db().execute("create table exact (a bigint, b bigint, c double precision, d text, e text)");
    db().execute("insert into exact values ($1, $2, $3, $4, $5)", {kMin, kMax, 0.1, "", nullptr});

    const auto row = row_of("select a, b, c, d, e from exact");

    EXPECT_EQ(row.get_int(0), kMin);
    EXPECT_EQ(row.get_int(1), kMax);
    EXPECT_EQ(row.get_double(2), 0.1);
    EXPECT_EQ(row.get_text(3), "");
    EXPECT_TRUE(row.is_null(4));
}

TEST_P(Statements, KeepAnyText) {
    const std::string text =
        "'; drop table items; -- \"\\ \xC3\xA4\xF0\x9F\x98\x80 {a,b} \n\t $1 %s";
    db().execute(kInsertItem, {1, text});

    EXPECT_EQ(row_of("select name from items where name = $1", {text}).get_text(0), text);
}

TEST_P(Statements, RefuseTextWithNul) {
    EXPECT_EQ(
        code_of([&] {
            db().execute(kInsertItem, {1, std::string("a\0b", 3)});
        }),
        ErrorCode::InternalError
    );
    EXPECT_EQ(
        code_of([&] { db().query("select 1 where $1 = 'a'", {std::string("a\0b", 3)}); }),
        ErrorCode::InternalError
    );
}

TEST_P(Statements, BindByNumberInAnyOrderAndMoreThanOnce) {
    db().execute("insert into items (name, id, other) values ($2, $1, $1 + $3)", {7, "seven", 1});

    const auto row =
        row_of("select id, name, other from items where id = $2 and other = $1 and $2 > 0", {8, 7});

    EXPECT_EQ(row.get_int(0), 7);
    EXPECT_EQ(row.get_text(1), "seven");
    EXPECT_EQ(row.get_int(2), 8);
}

TEST_P(Statements, TakeLargeIntegersNextToSmallConstants) {
    constexpr std::int64_t kMs = 1'790'244'902'000;
    EXPECT_EQ(row_of("select $1 + 1000", {kMs}).get_int(0), kMs + 1000);
    EXPECT_EQ(row_of("select $1 / 1000", {kMs}).get_int(0), kMs / 1000);
}

TEST_P(Statements, TakeANullWhereTheyTookAValueAndTheOtherWayRound) {
    constexpr store::Sql kInsert = "insert into items (id, name, other) values ($1, $2, $3)";
    db().execute(kInsert, {1, nullptr, nullptr});
    db().execute(kInsert, {2, "two", 2'000'000'000'000});
    db().execute(kInsert, {3, nullptr, 3});
    db().execute(kInsert, {4, "four", nullptr});

    const auto row = row_of("select count(*), count(name), sum(other) from items");
    EXPECT_EQ(row.get_int(0), 4);
    EXPECT_EQ(row.get_int(1), 2);
    EXPECT_EQ(row.get_int(2), 2'000'000'000'003);
}

TEST_P(Statements, GiveWholeNumbersForCountsSumsAndTruth) {
    db().execute(kInsertItem, {1, "one"});

    EXPECT_EQ(row_of("select count(*) from items").get_int(0), 1);
    EXPECT_EQ(row_of("select sum(id) from items").get_int(0), 1);
    EXPECT_TRUE(row_of("select exists (select 1 from items)").get_bool(0));
    EXPECT_FALSE(row_of("select exists (select 1 from items where id = 2)").get_bool(0));
    EXPECT_EQ(row_of("select avg(id + 0.5) from items").get_double(0), 1.5);
}

TEST_P(Statements, WorkOnListsOfNumbers) {
    for (int i = 1; i <= 5; ++i) {
        db().execute(kInsertItem, {i, "item " + std::to_string(i)});
    }
    const store::Sql select(
        "select id from items where id in (select value from json_each($1)) order by id",
        "select id from items where id = any ($1::bigint[]) order by id"
    );

    std::vector<std::int64_t> found;
    for (const auto& row : db().query(select, {store::IntList{2, 4, 9}})) {
        found.push_back(row.get_int(0));
    }

    EXPECT_THAT(found, ElementsAre(2, 4));
    EXPECT_TRUE(db().query(select, {store::IntList{}}).empty());
}

TEST_P(Statements, WorkOnListsOfTexts) {
    const store::TextList names{
        "plain", "with \"quotes\" and \\", "", std::nullopt, "{1,2}", "NULL", "\xC3\xA4,b"};
    const store::Sql insert(
        "insert into items (id, name) select key + 1, value from json_each($1)",
        "insert into items (id, name) select n, v from unnest($1::text[]) with ordinality as t (v, "
        "n)"
    );
    db().execute(insert, {names});

    store::TextList found;
    for (const auto& row : db().query("select name from items order by id")) {
        found.push_back(row.find_text(0));
    }

    EXPECT_EQ(found, names);
}

TEST_P(Statements, ReturnRowsOfAWrite) {
    const auto row = db().write([](store::Transaction& tx) {
        return tx.get_row(
            "insert into items (id, name) values ($1, $2) returning id, name", {1, "one"}
        );
    });

    EXPECT_EQ(row.get_int(0), 1);
    EXPECT_EQ(row.get_text(1), "one");
}

TEST_P(Statements, FindOneRowOrNone) {
    db().write([](store::Transaction& tx) {
        tx.execute(kInsertItem, {1, "one"});
        tx.execute(kInsertItem, {2, "two"});
    });
    db().read([](store::Transaction& tx) {
        EXPECT_EQ(tx.find_row("select name from items where id = $1", {1})->get_text(0), "one");
        EXPECT_FALSE(tx.find_row("select name from items where id = $1", {3}).has_value());
        EXPECT_THROW((void)tx.get_row("select name from items where id = $1", {3}), ComputeError);
        EXPECT_THROW((void)tx.find_row("select name from items"), ComputeError);
    });
}

TEST_P(Statements, ThatAreWrongAreDefects) {
    EXPECT_EQ(code_of([&] { db().query("select * from missing"); }), ErrorCode::InternalError);
    EXPECT_EQ(code_of([&] { db().query("selec 1"); }), ErrorCode::InternalError);
    EXPECT_EQ(
        code_of([&] { db().query("select id from items where id = $1 and id = $2", {1}); }),
        ErrorCode::InternalError
    );
    EXPECT_EQ(count_items(), 0);
}

TEST_P(Statements, CountChangedRows) {
    db().execute(kInsertItem, {1, "one"});
    db().execute(kInsertItem, {2, "two"});

    EXPECT_EQ(db().execute("update items set other = 1 where id = $1", {9}), 0);
    EXPECT_EQ(db().execute("update items set other = 1"), 2);
    EXPECT_EQ(db().execute("create table another (id bigint)"), 0);
    EXPECT_EQ(db().execute("delete from items where id = $1", {1}), 1);
}

TEST_P(Statements, SurviveAChangeOfTheSchema) {
    db().execute(kInsertItem, {1, "one"});
    constexpr store::Sql kAll = "select * from items";
    const auto read_all = [&] {
        return db().read([&](store::Transaction& tx) { return tx.query(kAll).at(0).get_text(1); });
    };
    EXPECT_EQ(db().query(kAll).at(0).get_text(1), "one");
    EXPECT_EQ(read_all(), "one");

    db().execute("alter table items add column added bigint");

    EXPECT_EQ(db().query(kAll).at(0).get_text(1), "one");
    EXPECT_EQ(read_all(), "one");
}

TEST_P(Statements, OfManyDifferentTextsDoNotFillTheServer) {
    for (int i = 0; i < 1200; ++i) {
        const std::string text = "select " + std::to_string(i) + " + $1";
        ASSERT_EQ(db().query(std::string_view(text), {1}).at(0).get_int(0), i + 1);
    }

    if (is_postgres()) {
        EXPECT_LE(db().query("select count(*) from pg_prepared_statements").at(0).get_int(0), 600);
    }
}

TEST_P(Statements, ThatAreDeferredMayBeMadeOfTextThatIsGone) {
    db().write([](store::Transaction& tx) {
        for (int i = 0; i < 3; ++i) {
            const std::string text =
                "insert into items (id, name) values (" + std::to_string(i) + ", $1)";
            tx.defer(std::string_view(text), {"item " + std::to_string(i)});
        }
    });

    EXPECT_EQ(count_items(), 3);
}

TEST_P(Statements, ThatAreDeferredByTheThousandDoNotBlock) {
    db().write([](store::Transaction& tx) {
        for (int i = 0; i < 5000; ++i) {
            tx.defer(kInsertItem, {i, "item " + std::to_string(i) + std::string(200, 'x')});
        }
    });

    EXPECT_EQ(count_items(), 5000);
}

}  // namespace
}  // namespace compute::conformance
