#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/http/handler.h"

namespace compute::daemon::http {
namespace {

std::string header_of(const Answer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.headers) {
        if (key == name) {
            return value;
        }
    }
    return "";
}

Answer after(const Json& milliseconds) {
    return error_answer(
        ComputeError(ErrorCode::StorageBusy, "busy", Json{{"retryAfterMs", milliseconds}})
    );
}

TEST(ErrorAnswer, EveryCodeHasItsStatus) {
    for (const ErrorInfo& info : error_table()) {
        const Answer answer = error_answer(ComputeError(info.code, "why"));
        EXPECT_EQ(answer.status, info.http_status) << info.name;
        EXPECT_EQ(Json::parse(answer.body).at("error").at("code"), info.name);
    }
}

TEST(ErrorAnswer, RetryAfterIsInSecondsRoundedUp) {
    EXPECT_EQ(header_of(after(20000), "Retry-After"), "20");
    EXPECT_EQ(header_of(after(1), "Retry-After"), "1");
    EXPECT_EQ(header_of(after(1000), "Retry-After"), "1");
    EXPECT_EQ(header_of(after(1001), "Retry-After"), "2");
    EXPECT_EQ(header_of(after(0), "Retry-After"), "0");
}

TEST(ErrorAnswer, WhatIsNoNumberStaysInTheDetails) {
    const Answer answer = after("soon");

    EXPECT_EQ(header_of(answer, "Retry-After"), "");
    EXPECT_EQ(Json::parse(answer.body).at("error").at("details").at("retryAfterMs"), "soon");
}

TEST(ErrorAnswer, AnInternalErrorTellsNothing) {
    const Answer answer = error_answer(ComputeError(
        ErrorCode::InternalError, "postgres://u:p@h", Json{{"retryAfterMs", 5000}, {"x", 1}}
    ));

    EXPECT_EQ(
        answer.body, R"({"error":{"code":"INTERNAL_ERROR","message":"Internal server error"}})"
    );
    EXPECT_TRUE(answer.headers.empty());
}

}  // namespace
}  // namespace compute::daemon::http
