#include <gtest/gtest.h>

#include "outbox/outbox.h"

namespace compute::outbox {
namespace {

using store::Engine;

TEST(VisibilityMark, OfPostgresSeesWhatHadEnded) {
    constexpr const char* kMark = "100:110:103,107";

    EXPECT_TRUE(was_visible({99, 5}, kMark, Engine::Postgres));
    EXPECT_TRUE(was_visible({101, 5}, kMark, Engine::Postgres));
    EXPECT_TRUE(was_visible({109, 5}, kMark, Engine::Postgres));
}

TEST(VisibilityMark, OfPostgresDoesNotSeeWhatWasUnderWayOrLater) {
    constexpr const char* kMark = "103:110:103,107";

    EXPECT_FALSE(was_visible({103, 5}, kMark, Engine::Postgres));
    EXPECT_FALSE(was_visible({107, 5}, kMark, Engine::Postgres));
    EXPECT_FALSE(was_visible({110, 5}, kMark, Engine::Postgres));
    EXPECT_FALSE(was_visible({200, 1}, kMark, Engine::Postgres));
}

TEST(VisibilityMark, OfSqliteIsTheLastSeq) {
    EXPECT_TRUE(was_visible({3, 7}, "7", Engine::Sqlite));
    EXPECT_FALSE(was_visible({8, 8}, "7", Engine::Sqlite));
    EXPECT_FALSE(was_visible({1, 1}, "0", Engine::Sqlite));
}

TEST(VisibilityMark, ThatIsMalformedIsADefect) {
    for (const char* mark : {"", "1", "1:", "1:2", "a:b:", "1:2:3,", "1:2:x", "1:2:3 "}) {
        EXPECT_THROW((void)was_visible({1, 1}, mark, Engine::Postgres), ComputeError) << mark;
    }
    for (const char* mark : {"", "x", "1:2:", "7 "}) {
        EXPECT_THROW((void)was_visible({1, 1}, mark, Engine::Sqlite), ComputeError) << mark;
    }
}

}  // namespace
}  // namespace compute::outbox
