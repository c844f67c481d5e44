// What the topics of the suite share: a fresh database with a table of items.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/database.h"

#include "tests/support/test_database.h"

namespace compute::conformance {

inline constexpr store::Sql kInsertItem = "insert into items (id, name) values ($1, $2)";
inline constexpr store::Sql kCountItems = "select count(*) from items";

class EngineTest : public ::testing::TestWithParam<store::Engine> {
protected:
    void SetUp() override {
        data_.emplace(GetParam());
        db().execute(
            "create table items (id bigint primary key, name text unique, other bigint, "
            "constraint items_other_positive check (other > 0))"
        );
    }

    [[nodiscard]] store::Database& db() { return data_->database(); }
    [[nodiscard]] support::TestDatabase& data() { return *data_; }
    [[nodiscard]] bool is_postgres() const { return GetParam() == store::Engine::Postgres; }
    [[nodiscard]] std::int64_t count_items() { return db().query(kCountItems).at(0).get_int(0); }

    static ErrorCode code_of(const std::function<void()>& function) {
        try {
            function();
        } catch (const ComputeError& error) {
            return error.code();
        }
        ADD_FAILURE() << "nothing was thrown";
        return ErrorCode::InternalError;
    }

private:
    std::optional<support::TestDatabase> data_;
};

}  // namespace compute::conformance
