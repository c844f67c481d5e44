#include "cli/terminal_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/cells.h"
#include "cli/console.h"

namespace compute::cli {
namespace {

TEST(Width, IsTheColumnsOnTheScreen) {
    EXPECT_EQ(width_of(""), 0U);
    EXPECT_EQ(width_of("gpu-001"), 7U);
    EXPECT_EQ(width_of("z\xc3\xbcrich"), 6U);
    EXPECT_EQ(width_of("\xe6\x9d\xb1\xe4\xba\xac"), 4U) << "two wide characters";
    EXPECT_EQ(width_of("e\xcc\x81"), 1U) << "a combining accent takes no column";
    EXPECT_EQ(width_of("\x1b[31mred\x1b[0m"), 3U);
    EXPECT_EQ(width_of("\xff"), 1U);
}

TEST(Printable, LeavesNothingThatSteersATerminal) {
    EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"), "a [31mb c ");
    EXPECT_EQ(
        printable("a\xc2\x9b"
                  "31mb"),
        "a 31mb"
    ) << "an escape of the upper range";
    EXPECT_EQ(
        printable("a\xe2\x80\xae"
                  "b"),
        "a b"
    ) << "right to left from here on";
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a b");
}

TEST(Printable, ShowsBytesThatAreNoTextAsQuestionMarks) {
    EXPECT_EQ(
        printable("a\xff\xfe"
                  "b"),
        "a??b"
    );
    EXPECT_EQ(printable("a\xe6\x9d"), "a??") << "cut off";
}

TEST(Printable, IsCutBetweenCharacters) {
    EXPECT_EQ(printable("\xe6\x9d\xb1\xe4\xba\xac", 5), "\xe6\x9d\xb1");
    EXPECT_EQ(printable("abcdef", 3), "abc");
    EXPECT_EQ(printable("", 3), "");
}

TEST(Cells, AbsentIsADash) {
    const Json row = {{"name", "a\nb"}, {"count", 3}, {"at", 1000}, {"list", {"x", "y"}}};

    EXPECT_EQ(text_cell(row, "name"), "a b");
    EXPECT_EQ(text_cell(row, "count"), "3");
    EXPECT_EQ(time_cell(row, "at"), "1970-01-01T00:00:01.000Z");
    EXPECT_EQ(list_cell(row, "list"), "x,y");
    EXPECT_EQ(text_cell(row, "none") + time_cell(row, "none") + list_cell(row, "none"), "---");
}

}  // namespace
}  // namespace compute::cli
