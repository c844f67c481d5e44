#include "core/clock.h"

#include <gtest/gtest.h>

namespace compute {
namespace {

TEST(IsoTime, HasMillisecondsAndZ) {
    EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(1'790'244'902'114), "2026-09-24T10:15:02.114Z");
    EXPECT_EQ(iso_time(951'782'400'000), "2000-02-29T00:00:00.000Z");
}

TEST(FindIsoTime, ReadsBackWhatIsoTimeWrites) {
    for (const EpochMs time : {EpochMs{0}, EpochMs{1}, EpochMs{1'790'244'902'114}, EpochMs{253'402'300'799'999}}) {
        EXPECT_EQ(find_iso_time(iso_time(time)), time);
    }
}

TEST(FindIsoTime, TakesDatesAndOtherFractions) {
    EXPECT_EQ(find_iso_time("2026-09-24"), 1'790'208'000'000);
    EXPECT_EQ(find_iso_time("2026-09-24T10:15:02Z"), 1'790'244'902'000);
    EXPECT_EQ(find_iso_time("2026-09-24T10:15:02.1Z"), 1'790'244'902'100);
    EXPECT_EQ(find_iso_time("2026-09-24T10:15:02.123456789Z"), 1'790'244'902'123);
}

TEST(FindIsoTime, RefusesEverythingElse) {
    for (const char* text :
         {"",
          "2026",
          "2026-13-01",
          "2026-02-30",
          "2026-09-24T",
          "2026-09-24T10:15",
          "2026-09-24T24:00:00Z",
          "2026-09-24T10:60:00Z",
          "2026-09-24T10:15:02",
          "2026-09-24T10:15:02+00:00",
          "2026-09-24T10:15:02.Z",
          "2026-09-24T10:15:02.1234567890Z",
          "2026-09-24T10:15:02Zx",
          " 2026-09-24"}) {
        EXPECT_EQ(find_iso_time(text), std::nullopt) << text;
    }
}

TEST(SystemClock, SleepEndsWhenCancelled) {
    SystemClock clock;
    const auto start = clock.steady_ms();

    clock.sleep(std::chrono::hours{1}, [] { return true; });

    EXPECT_LT(clock.steady_ms() - start, 10'000);
}

}  // namespace
}  // namespace compute
