// The one error vocabulary. Whatever goes wrong on the way of a call becomes a ComputeError; its code decides
// the wire name and the HTTP status by one table, and nothing else does.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace compute {

using Json = nlohmann::json;

enum class ErrorCode {
    InvalidInput,
    Unauthenticated,
    BudgetExceeded,
    AccessDenied,
    ConfirmationRequired,
    CsrfRejected,
    NotFound,
    MethodNotAllowed,
    Conflict,
    InvalidState,
    ConfigDrift,
    QuotaExceeded,
    PayloadTooLarge,
    RateLimited,
    InternalError,
    InvalidConfig,
    Unsupported,
    StorageBusy,
    IamUnavailable,
};

struct ErrorInfo {
    ErrorCode code;
    std::string_view name;  // on the wire: "INVALID_INPUT"
    int http_status;
    bool is_retryable;         // the same call may succeed later without a change
    bool is_envelope_owned;    // handlers never throw it
    std::string_view meaning;  // one sentence for the error reference
};

// Every code once, in the order of the enum.
[[nodiscard]] std::span<const ErrorInfo> error_table() noexcept;
[[nodiscard]] const ErrorInfo& error_info(ErrorCode code) noexcept;
[[nodiscard]] std::optional<ErrorCode> find_error_code(std::string_view name) noexcept;

// What a ComputeError may carry beside code and message.
struct ErrorExtra {
    std::shared_ptr<const Json> details;  // an object for the caller; null when absent
    std::string log_detail;               // for the log only, never sent
    std::string hint;                     // what to do next; the command line prints it
};

// Thrown when the current operation cannot go on. `what()` is the message for the caller.
class ComputeError : public std::exception {
public:
    ComputeError(ErrorCode code, std::string message, ErrorExtra extra = {});
    ComputeError(ErrorCode code, std::string message, const Json& details);

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    [[nodiscard]] const std::string& message() const noexcept { return message_; }
    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
    [[nodiscard]] const Json* details() const noexcept { return extra_.details.get(); }
    [[nodiscard]] const std::string& log_detail() const noexcept { return extra_.log_detail; }
    [[nodiscard]] const std::string& hint() const noexcept { return extra_.hint; }

private:
    ErrorCode code_;
    std::string message_;
    ErrorExtra extra_;
};

// True when `error` is a ComputeError (of `code`, when given), judged by shape, so that one thrown by another
// copy of the library is recognized too.
[[nodiscard]] bool is_compute_error(
    const std::exception& error, std::optional<ErrorCode> code = std::nullopt
) noexcept;

// True when `body` has the shape of a failed answer, `{error:{code,message,...}}` or its inner object, with a
// known code (equal to `code`, when given).
[[nodiscard]] bool is_compute_error(
    const Json& body, std::optional<ErrorCode> code = std::nullopt
) noexcept;

// The body of a failed answer: `{error:{code,message,retryAfterMs?,details?}}`. INTERNAL_ERROR loses message
// and details. A numeric `details.retryAfterMs` moves to the top.
[[nodiscard]] Json error_body(const ComputeError& error);

// `details.retryAfterMs` in milliseconds when the error carries one as a number.
[[nodiscard]] std::optional<std::int64_t> retry_after_ms(const ComputeError& error);

[[nodiscard]] ComputeError invalid_input(std::string message);
[[nodiscard]] ComputeError invalid_config(std::string message, std::string hint = {});
[[nodiscard]] ComputeError not_found(std::string message);
[[nodiscard]] ComputeError internal_error(std::string log_detail);

}  // namespace compute
