// A fresh database for one test, on either engine. SQLite: a file in a folder of its own.
// PostgreSQL: a database of the cluster that BETTER_COMPUTE_TEST_POSTGRES names, taken from a set
// that is kept between tests and emptied before each use, which is ten times faster than making
// one. Without the variable, PostgreSQL tests fail.
//
//     class Fanout : public ::testing::TestWithParam<store::Engine> {};
//     INSTANTIATE_TEST_SUITE_P(Engines, Fanout, support::both_engines(), support::engine_name);
//     TEST_P(Fanout, QueuesOnce) { support::TestDatabase db(GetParam()); db.database().write(...);
//     }
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "store/database.h"

namespace compute::support {

enum class Content { Migrated, Empty };

// Not thread-safe itself; several may live at once.
class TestDatabase {
public:
    // With every built-in migration applied, or with nothing in it.
    explicit TestDatabase(store::Engine engine, Content content = Content::Migrated);
    ~TestDatabase();
    TestDatabase(const TestDatabase&) = delete;
    TestDatabase& operator=(const TestDatabase&) = delete;

    // The test's handle, opened at the first call. SQLite: synchronous NORMAL, which no test that
    // survives its process can tell apart.
    [[nodiscard]] store::Database& database();
    // Another handle on the same data; `options.url` is filled in.
    [[nodiscard]] std::unique_ptr<store::Database> open(store::Options options = {}) const;
    // Ends the test's handle; the data stays.
    void close();

    [[nodiscard]] const std::string& url() const;
    // The file of an SQLite database.
    [[nodiscard]] std::string path() const;
    [[nodiscard]] store::Engine engine() const noexcept { return engine_; }

    struct Place;  // where the data is, and how it is given back

private:
    store::Engine engine_;
    std::unique_ptr<Place> place_;
    std::unique_ptr<store::Database> database_;
};

inline auto both_engines() {
    return ::testing::Values(store::Engine::Sqlite, store::Engine::Postgres);
}

inline std::string engine_name(const ::testing::TestParamInfo<store::Engine>& info) {
    return info.param == store::Engine::Sqlite ? "Sqlite" : "Postgres";
}

}  // namespace compute::support
