#include "core/error.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace compute {
namespace {

constexpr std::array kTable{
    ErrorInfo{ErrorCode::InvalidInput, "INVALID_INPUT", 400, false, false, "the request is malformed or a field is out of its bounds"},
    ErrorInfo{ErrorCode::Unauthenticated, "UNAUTHENTICATED", 401, false, true, "no credential, or one that is not valid (any more)"},
    ErrorInfo{ErrorCode::BudgetExceeded, "BUDGET_EXCEEDED", 402, false, false, "a budget of the tenant does not cover the request"},
    ErrorInfo{ErrorCode::AccessDenied, "ACCESS_DENIED", 403, false, true, "the caller may not do this"},
    ErrorInfo{ErrorCode::ConfirmationRequired, "CONFIRMATION_REQUIRED", 403, false, true, "a person has to confirm what an agent asked for"},
    ErrorInfo{ErrorCode::CsrfRejected, "CSRF_REJECTED", 403, false, true, "the content type or the X-Better-Compute header is missing"},
    ErrorInfo{ErrorCode::NotFound, "NOT_FOUND", 404, false, false, "there is no such thing in the tenant"},
    ErrorInfo{ErrorCode::MethodNotAllowed, "METHOD_NOT_ALLOWED", 405, false, true, "the route takes POST only"},
    ErrorInfo{ErrorCode::Conflict, "CONFLICT", 409, false, false, "the request conflicts with what is there; details.reason says how"},
    ErrorInfo{ErrorCode::InvalidState, "INVALID_STATE", 409, false, false, "the thing is in a state that does not allow this"},
    ErrorInfo{ErrorCode::ConfigDrift, "CONFIG_DRIFT", 409, false, false, "what was planned on has changed; plan again"},
    ErrorInfo{ErrorCode::QuotaExceeded, "QUOTA_EXCEEDED", 409, false, false, "a limit of the tenant or project is reached"},
    ErrorInfo{ErrorCode::PayloadTooLarge, "PAYLOAD_TOO_LARGE", 413, false, true, "the body is larger than 64 KiB"},
    ErrorInfo{ErrorCode::RateLimited, "RATE_LIMITED", 429, true, false, "too many requests; retryAfterMs says when to try again"},
    ErrorInfo{ErrorCode::InternalError, "INTERNAL_ERROR", 500, false, false, "a defect or a broken dependency; the log of the daemon says more"},
    ErrorInfo{ErrorCode::InvalidConfig, "INVALID_CONFIG", 500, false, false, "the configuration or a method definition is wrong"},
    ErrorInfo{ErrorCode::Unsupported, "UNSUPPORTED", 501, false, false, "this deployment or method does not support it"},
    ErrorInfo{ErrorCode::StorageBusy, "STORAGE_BUSY", 503, true, false, "the database cannot take the request right now"},
    ErrorInfo{ErrorCode::IamUnavailable, "IAM_UNAVAILABLE", 503, true, false, "the identity system cannot be reached or does not answer in time"},
};

std::shared_ptr<const Json> share(const Json& details) {
    return details.is_null() ? nullptr : std::make_shared<const Json>(details);
}

}  // namespace

std::span<const ErrorInfo> error_table() noexcept { return kTable; }

const ErrorInfo& error_info(ErrorCode code) noexcept {
    return kTable[static_cast<std::size_t>(code)];
}

std::optional<ErrorCode> find_error_code(std::string_view name) noexcept {
    for (const ErrorInfo& info : kTable) {
        if (info.name == name) {
            return info.code;
        }
    }
    return std::nullopt;
}

ComputeError::ComputeError(ErrorCode code, std::string message, ErrorExtra extra)
    : code_(code), message_(std::move(message)), extra_(std::move(extra)) {}

ComputeError::ComputeError(ErrorCode code, std::string message, const Json& details)
    : ComputeError(code, std::move(message), ErrorExtra{.details = share(details), .log_detail = {}, .hint = {}}) {}

bool is_compute_error(const std::exception& error, std::optional<ErrorCode> code) noexcept {
    const auto* known = dynamic_cast<const ComputeError*>(&error);
    return known != nullptr && (!code || known->code() == *code);
}

bool is_compute_error(const Json& body, std::optional<ErrorCode> code) noexcept {
    if (!body.is_object()) {
        return false;
    }
    const auto outer = body.find("error");
    const Json& error = outer == body.end() ? body : *outer;
    if (!error.is_object()) {
        return false;
    }
    const auto name = error.find("code");
    const auto message = error.find("message");
    if (name == error.end() || !name->is_string() || message == error.end() || !message->is_string()) {
        return false;
    }
    const auto found = find_error_code(*name->get_ptr<const std::string*>());
    return found.has_value() && (!code || *found == *code);
}

Json error_body(const ComputeError& error) {
    Json inner = Json::object();
    inner["code"] = error_info(error.code()).name;
    if (error.code() == ErrorCode::InternalError) {
        inner["message"] = "Internal server error";
        return Json{{"error", std::move(inner)}};
    }
    inner["message"] = error.message();
    if (error.details() != nullptr) {
        Json details = *error.details();
        if (details.is_object()) {
            const auto after = details.find("retryAfterMs");
            if (after != details.end() && after->is_number()) {
                inner["retryAfterMs"] = *after;
                details.erase(after);
            }
        }
        if (!details.empty()) {
            inner["details"] = std::move(details);
        }
    }
    return Json{{"error", std::move(inner)}};
}

std::optional<std::int64_t> retry_after_ms(const ComputeError& error) {
    if (error.details() == nullptr || !error.details()->is_object()) {
        return std::nullopt;
    }
    const auto after = error.details()->find("retryAfterMs");
    if (after == error.details()->end() || !after->is_number()) {
        return std::nullopt;
    }
    return after->get<std::int64_t>();
}

ComputeError invalid_input(std::string message) {
    return {ErrorCode::InvalidInput, std::move(message)};
}

ComputeError invalid_config(std::string message, std::string hint) {
    return {
        ErrorCode::InvalidConfig,
        std::move(message),
        ErrorExtra{.details = nullptr, .log_detail = {}, .hint = std::move(hint)}
    };
}

ComputeError not_found(std::string message) { return {ErrorCode::NotFound, std::move(message)}; }

ComputeError internal_error(std::string log_detail) {
    return {
        ErrorCode::InternalError,
        "Internal server error",
        ErrorExtra{.details = nullptr, .log_detail = std::move(log_detail), .hint = {}}
    };
}

}  // namespace compute
