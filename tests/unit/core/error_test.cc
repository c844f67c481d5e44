#include "core/error.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace compute {
namespace {

// The statuses of settled.md, spelled out once more so that a changed table shows.
const std::map<std::string, int> kSettled{
    {"INVALID_INPUT", 400},      {"UNAUTHENTICATED", 401},   {"BUDGET_EXCEEDED", 402},
    {"ACCESS_DENIED", 403},      {"CONFIRMATION_REQUIRED", 403}, {"CSRF_REJECTED", 403},
    {"NOT_FOUND", 404},          {"METHOD_NOT_ALLOWED", 405}, {"CONFLICT", 409},
    {"INVALID_STATE", 409},      {"CONFIG_DRIFT", 409},      {"QUOTA_EXCEEDED", 409},
    {"PAYLOAD_TOO_LARGE", 413},  {"RATE_LIMITED", 429},      {"INTERNAL_ERROR", 500},
    {"INVALID_CONFIG", 500},     {"UNSUPPORTED", 501},       {"STORAGE_BUSY", 503},
    {"IAM_UNAVAILABLE", 503},
};

TEST(ErrorTable, HasEveryCodeWithItsStatus) {
    std::map<std::string, int> table;
    for (const ErrorInfo& info : error_table()) {
        table.emplace(info.name, info.http_status);
        EXPECT_EQ(&error_info(info.code), &info) << info.name;
        EXPECT_EQ(find_error_code(info.name), info.code);
    }

    EXPECT_EQ(table, kSettled);
}

TEST(ErrorTable, UnknownNameIsNoCode) { EXPECT_EQ(find_error_code("NOPE"), std::nullopt); }

TEST(ErrorBody, CarriesCodeMessageAndDetails) {
    const ComputeError error(ErrorCode::Conflict, "changed", Json{{"widgetId", "w-1"}});

    EXPECT_EQ(
        error_body(error),
        (Json{{"error", {{"code", "CONFLICT"}, {"message", "changed"}, {"details", {{"widgetId", "w-1"}}}}}})
    );
}

TEST(ErrorBody, MovesANumericRetryAfterToTheTop) {
    const ComputeError error(ErrorCode::RateLimited, "slow", Json{{"retryAfterMs", 20000}});

    const Json body = error_body(error);

    EXPECT_EQ(body["error"]["retryAfterMs"], 20000);
    EXPECT_FALSE(body["error"].contains("details"));
    EXPECT_EQ(retry_after_ms(error), 20000);
}

TEST(ErrorBody, KeepsATextualRetryAfterInDetails) {
    const ComputeError error(ErrorCode::RateLimited, "slow", Json{{"retryAfterMs", "soon"}});

    EXPECT_EQ(error_body(error)["error"]["details"]["retryAfterMs"], "soon");
    EXPECT_EQ(retry_after_ms(error), std::nullopt);
}

TEST(ErrorBody, AnInternalErrorSaysNothing) {
    const ComputeError error(ErrorCode::InternalError, "postgres://u:pw@db", Json{{"x", 1}});

    EXPECT_EQ(
        error_body(error),
        (Json{{"error", {{"code", "INTERNAL_ERROR"}, {"message", "Internal server error"}}}})
    );
}

TEST(IsComputeError, JudgesExceptionsAndBodiesByShape) {
    const ComputeError error(ErrorCode::NotFound, "no");
    EXPECT_TRUE(is_compute_error(error));
    EXPECT_TRUE(is_compute_error(error, ErrorCode::NotFound));
    EXPECT_FALSE(is_compute_error(error, ErrorCode::Conflict));
    EXPECT_FALSE(is_compute_error(std::runtime_error("x")));

    EXPECT_TRUE(is_compute_error(error_body(error), ErrorCode::NotFound));
    EXPECT_TRUE(is_compute_error(error_body(error)["error"]));
    EXPECT_FALSE(is_compute_error(Json{{"error", {{"code", "WHAT"}, {"message", "m"}}}}));
    EXPECT_FALSE(is_compute_error(Json{{"error", {{"code", "NOT_FOUND"}}}}));
    EXPECT_FALSE(is_compute_error(Json::array()));
    EXPECT_FALSE(is_compute_error(Json(nullptr)));
}

}  // namespace
}  // namespace compute
