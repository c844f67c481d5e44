#include "store/value.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace compute::store {
namespace {

TEST(Row, GivesCellsOfTheTypeAskedFor) {
    const Row row({Null{}, std::int64_t{7}, 1.5, std::string("text")});

    EXPECT_TRUE(row.is_null(0));
    EXPECT_EQ(row.get_int(1), 7);
    EXPECT_TRUE(row.get_bool(1));
    EXPECT_EQ(row.get_double(1), 7.0);
    EXPECT_EQ(row.get_double(2), 1.5);
    EXPECT_EQ(row.get_text(3), "text");
    EXPECT_EQ(row.find_int(0), std::nullopt);
    EXPECT_EQ(row.find_int(1), 7);
    EXPECT_EQ(row.find_text(0), std::nullopt);
    EXPECT_EQ(row.find_text(3), "text");
}

TEST(Row, TreatsAnotherTypeAsADefect) {
    const Row row({Null{}, std::int64_t{7}, std::string("text")});

    EXPECT_THROW((void)row.get_int(0), ComputeError);
    EXPECT_THROW((void)row.get_text(1), ComputeError);
    EXPECT_THROW((void)row.find_int(2), ComputeError);
    EXPECT_THROW((void)row.get_double(2), ComputeError);
    EXPECT_THROW((void)row.get_int(3), ComputeError);
}

TEST(Param, TakesOptionalsAsNull) {
    EXPECT_TRUE(std::holds_alternative<Null>(Param(std::optional<std::string>()).value()));
    EXPECT_EQ(std::get<std::string>(Param(std::optional<std::string>("a")).value()), "a");
    EXPECT_EQ(std::get<std::int64_t>(Param(true).value()), 1);
    EXPECT_EQ(std::get<std::string>(Param(TenantId("acme")).value()), "acme");
}

}  // namespace
}  // namespace compute::store
