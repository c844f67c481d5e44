#include "net/header_block.h"

#include <string>

#include <gtest/gtest.h>

#include "core/error.h"

namespace compute::net {
namespace {

TEST(HeaderBlock, HoldsLinesInOrder) {
    HeaderBlock block;
    block.add("A", "1");
    block.add("B", "two words");

    ASSERT_EQ(block.size(), 2U);
    EXPECT_EQ(block.line(0), "A: 1");
    EXPECT_EQ(block.line(1), "B: two words");

    block.clear();
    EXPECT_EQ(block.size(), 0U);
}

TEST(HeaderBlock, RefusesWhatCouldSmuggleALine) {
    HeaderBlock block;
    for (const auto& [name, value] : {
             std::pair("A", "x\r\nB: y"),
             std::pair("A", "x\ny"),
             std::pair("A\r\n", "x"),
             std::pair("A:", "x"),
             std::pair("A B", "x"),
             std::pair("", "x"),
             std::pair("A", ""),
         }) {
        EXPECT_THROW(block.add(name, value), ComputeError) << name;
    }
    EXPECT_THROW(block.add("A", std::string_view("x\0y", 3)), ComputeError);
    EXPECT_EQ(block.size(), 0U);
}

TEST(HeaderBlock, RefusesWhatDoesNotFit) {
    HeaderBlock block;
    EXPECT_THROW(block.add("A", std::string(HeaderBlock::kMaxBytes, 'x')), ComputeError);
    for (std::size_t i = 0; i < HeaderBlock::kMaxLines - 2; ++i) {
        block.add("A", "x");
    }
    EXPECT_THROW(block.add("A", "x"), ComputeError);
}

}  // namespace
}  // namespace compute::net
