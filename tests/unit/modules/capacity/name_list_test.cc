#include "modules/capacity/name_list.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/error.h"

namespace compute::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& list) {
    try {
        (void)expand_names(list, "names");
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        return error.message();
    }
    return "taken";
}

TEST(NameList, OneNameNeedsNoBracket) {
    EXPECT_THAT(expand_names("login-1", "names"), ElementsAre("login-1"));
}

TEST(NameList, EquallyWideRangesKeepLeadingZeros) {
    EXPECT_THAT(
        expand_names("gpu-[08-11,0037]a", "names"),
        ElementsAre("gpu-08a", "gpu-09a", "gpu-10a", "gpu-11a", "gpu-0037a")
    );
}

TEST(NameList, NaturalNumbersMayGrowWider) {
    EXPECT_THAT(expand_names("n[8-11]", "names"), ElementsAre("n8", "n9", "n10", "n11"));
}

TEST(NameList, RefusesWhatIsNoList) {
    EXPECT_THAT(refusal(""), HasSubstr("is no node name"));
    EXPECT_THAT(refusal("n["), HasSubstr("pair of brackets"));
    EXPECT_THAT(refusal("n]1["), HasSubstr("pair of brackets"));
    EXPECT_THAT(refusal("n[1][2]"), HasSubstr("pair of brackets"));
    EXPECT_THAT(refusal("n[]"), HasSubstr("must be a number"));
    EXPECT_THAT(refusal("n[1,,2]"), HasSubstr("must be a number"));
    EXPECT_THAT(refusal("n[1-2-3]"), HasSubstr("must be a number"));
    EXPECT_THAT(refusal("n[-1]"), HasSubstr("must be a number"));
    EXPECT_THAT(refusal("n[a-b]"), HasSubstr("must be a number"));
    EXPECT_THAT(refusal("n[1-9999999999999999999]"), HasSubstr("must be a number"));
    EXPECT_THAT(refusal("n[5-3]"), HasSubstr("runs backwards"));
    EXPECT_THAT(refusal("n[01-100]"), HasSubstr("equally wide"));
    EXPECT_THAT(refusal("[0-3]"), HasSubstr("is no node name"));
    EXPECT_THAT(refusal("N[0-3]"), HasSubstr("is no node name"));
    EXPECT_THAT(refusal(std::string(63, 'n') + "[0-3]"), HasSubstr("is no node name"));
}

TEST(NameList, RefusesANameTwice) {
    EXPECT_EQ(refusal("n[1-3,2]"), "names: name n2 is given twice");
    EXPECT_EQ(refusal("n[1,01]"), "taken");
}

TEST(NameList, RefusesMoreThan4096NamesWithoutExpandingThem) {
    EXPECT_EQ(expand_names("n[0-4095]", "names").size(), 4096U);
    EXPECT_THAT(refusal("n[0-4096]"), HasSubstr("at most 4096 names"));
    EXPECT_THAT(refusal("n[0-999999999999999999]"), HasSubstr("at most 4096 names"));
}

TEST(NameList, RefusesMoreThan8192Characters) {
    std::string list = "n[1";
    while (list.size() < 8192) {
        list += ",1";
    }
    EXPECT_THAT(refusal(list + "]"), HasSubstr("at most 8192 characters"));
}

TEST(NameList, CanonicalFormJoinsNeighboursAndKeepsTheBracket) {
    EXPECT_EQ(canonical_names("n[3,1,2]", "names"), "n[1-3]");
    EXPECT_EQ(canonical_names("n[10-12,8,9]", "names"), "n[8-12]");
    EXPECT_EQ(canonical_names("n[10-12,08,09]", "names"), "n[08-12]");
    EXPECT_EQ(canonical_names("n[0-9,10-12]", "names"), "n[0-12]");
    EXPECT_EQ(canonical_names("rack1-[1]-left", "names"), "rack1-1-left");
    EXPECT_EQ(canonical_names("rack[1,2]-7", "names"), "rack[1-2]-7");
    EXPECT_EQ(canonical_names("n[099-101,0100]", "names"), "n[099-101,0100]");
}

TEST(NameList, CompressingTheTraceShapeGivesOneList) {
    EXPECT_THAT(
        compress_names({"openb-node-0002", "openb-node-0000", "openb-node-0001", "login"}),
        ElementsAre("login", "openb-node-[0000-0002]")
    );
}

TEST(NameListProperty, ExpandingWhatCompressMadeGivesTheSameNames) {
    const bool holds = rc::check("expand(compress(names)) == names", [] {
        std::set<std::string> names;
        for (int i = *rc::gen::inRange(1, 60); i > 0; --i) {
            const auto prefix = *rc::gen::element<std::string>("n", "gpu-", "a1-", "rack-0", "x9");
            const auto digits = *rc::gen::container<std::string>(
                *rc::gen::inRange<std::size_t>(0, 4), rc::gen::element('0', '1', '8', '9')
            );
            const auto suffix = *rc::gen::element<std::string>("", "", "-a", "b");
            names.insert(prefix + digits + suffix);
        }
        std::set<std::string> back;
        for (const std::string& list : compress_names({names.begin(), names.end()})) {
            for (std::string& name : expand_names(list, "names")) {
                RC_ASSERT(back.insert(std::move(name)).second);
            }
        }
        RC_ASSERT(back == names);
    });
    EXPECT_TRUE(holds);
}

TEST(NameListProperty, TheCanonicalFormHasTheSameNamesAndIsItsOwn) {
    const bool holds = rc::check("canonical", [] {
        std::string list = "n[";
        for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
            const int first = *rc::gen::inRange(0, 120);
            const int last = first + *rc::gen::inRange(0, 15);
            std::string from = std::to_string(first);
            std::string to = std::to_string(last);
            if (*rc::gen::arbitrary<bool>()) {
                from.insert(0, 4 - from.size(), '0');
                to.insert(0, 4 - to.size(), '0');
            }
            list += (list.size() > 2 ? "," : "") + from + "-" + to;
        }
        list += "]";
        std::vector<std::string> names;
        try {
            names = expand_names(list, "names");
        } catch (const ComputeError&) {
            RC_DISCARD("not a list");
        }
        const std::string canonical = canonical_names(list, "names");
        auto again = expand_names(canonical, "names");
        std::sort(names.begin(), names.end());
        std::sort(again.begin(), again.end());
        RC_ASSERT(names == again);
        RC_ASSERT(canonical_names(canonical, "names") == canonical);
    });
    EXPECT_TRUE(holds);
}

TEST(NameListProperty, AnyTextIsExpandedOrRefused) {
    const bool holds = rc::check("total", [] {
        const auto text = *rc::gen::container<std::string>(
            rc::gen::element('n', '[', ']', ',', '-', '0', '1', '9', 'Z')
        );
        try {
            RC_ASSERT(!expand_names(text, "names").empty());
        } catch (const ComputeError& error) {
            RC_ASSERT(error.code() == ErrorCode::InvalidInput);
        }
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace compute::capacity
