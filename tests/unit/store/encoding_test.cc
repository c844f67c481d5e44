#include "store/postgres/encoding.h"

#include <gtest/gtest.h>

namespace compute::store::postgres {
namespace {

TEST(Encoding, WritesNumbersInFull) {
    EXPECT_EQ(text_of(Param(std::int64_t{-9223372036854775807 - 1})), "-9223372036854775808");
    EXPECT_EQ(text_of(Param(0.1)), "0.1");
    EXPECT_EQ(text_of(Param(nullptr)), std::nullopt);
}

TEST(Encoding, QuotesTheTextsOfAnArray) {
    EXPECT_EQ(text_of(Param(TextList{"a", "", "NULL", std::nullopt})), R"({"a","","NULL",NULL})");
    EXPECT_EQ(text_of(Param(TextList{R"(a"b\c,{})"})), R"({"a\"b\\c,{}"})");
    EXPECT_EQ(text_of(Param(IntList{1, -2, 3})), "{1,-2,3}");
    EXPECT_EQ(text_of(Param(IntList{})), "{}");
}

TEST(Encoding, DeclaresIntegersAsBigint) {
    EXPECT_EQ(type_of(Param(1)), 20U);
    EXPECT_EQ(type_of(Param("x")), 0U);
    EXPECT_EQ(type_of(Param(nullptr)), 0U);
    EXPECT_EQ(type_of(Param(IntList{1})), 1016U);
    EXPECT_EQ(type_of(Param(TextList{"x"})), 1009U);
}

}  // namespace
}  // namespace compute::store::postgres
