#include "core/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace compute {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(StderrLog, TextLinesQuoteWhatIsNotPlain) {
    ::testing::internal::CaptureStderr();
    make_stderr_log(LogLevel::Info, LogFormat::Text)
        ->info("call refused", {{"path", "pools/create"}, {"message", "two\nlines"}});

    const std::string line = ::testing::internal::GetCapturedStderr();

    EXPECT_THAT(line, HasSubstr("call refused path=pools/create message=\"two\\nlines\""));
}

TEST(StderrLog, JsonLinesAreJson) {
    ::testing::internal::CaptureStderr();
    make_stderr_log(LogLevel::Info, LogFormat::Json)->error("x", {{"bytes", "\xFF\""}});

    const Json line = Json::parse(::testing::internal::GetCapturedStderr());

    EXPECT_EQ(line["event"], "x");
    EXPECT_EQ(line["level"], "error");
    EXPECT_EQ(line["bytes"], "\xEF\xBF\xBD\"");
}

TEST(StderrLog, LevelFiltersAndCanChange) {
    ::testing::internal::CaptureStderr();
    const auto log = make_stderr_log(LogLevel::Warning, LogFormat::Text);
    log->info("hidden");
    log->set_level(LogLevel::Debug);
    log->debug("shown");

    const std::string lines = ::testing::internal::GetCapturedStderr();

    EXPECT_THAT(lines, Not(HasSubstr("hidden")));
    EXPECT_THAT(lines, HasSubstr("shown"));
}

TEST(StderrLog, MasksWhatLooksLikeATokenOrSecret) {
    const std::string token = "bct_service_" + std::string(49, 'A');
    for (const LogFormat format : {LogFormat::Text, LogFormat::Json}) {
        ::testing::internal::CaptureStderr();
        make_stderr_log(LogLevel::Info, format)->info("x", {{"tenant", token}, {"reason", "got whsec_abc, " + token + "."}});

        const std::string line = ::testing::internal::GetCapturedStderr();

        EXPECT_THAT(line, Not(HasSubstr("AAAA")));
        EXPECT_THAT(line, HasSubstr("got whsec_***, bct_***."));
    }
}

TEST(NullLog, WritesNothing) {
    ::testing::internal::CaptureStderr();
    null_log().error("x");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

}  // namespace
}  // namespace compute
