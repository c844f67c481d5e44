// One call to the remote IAM: POST {base}/{group}/{method} with JSON in and out, and what its
// answers mean here.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "crypto/secret.h"
#include "net/http_client.h"

namespace compute::iam::better_iam {

inline constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

// An answer of any status below 500 that arrived whole.
struct Answer {
    int status = 0;
    Json body;            // an object; empty when the body was none
    std::string message;  // of an error answer, for the log
    [[nodiscard]] bool is_ok() const noexcept { return status == 200; }
};

// Thread-safe.
class Wire {
public:
    // `base_url` may leave out the path: /api/iam then.
    Wire(std::string base_url, net::HttpClientOptions options);

    // Throws IAM_UNAVAILABLE when there is no whole answer in time, or one that cannot be trusted:
    // 3xx, 408, 421, 5xx, and a 200 whose body is no JSON object. RATE_LIMITED never: what 429
    // means is for the caller of this to say.
    [[nodiscard]] Answer post(
        const std::string& path,
        const crypto::Secret& bearer,
        const Json& body,
        std::chrono::milliseconds total_timeout = std::chrono::milliseconds(0)
    );

    [[nodiscard]] const std::string& base_url() const noexcept { return base_url_; }

private:
    std::string base_url_;
    net::HttpClient client_;
};

// IAM_UNAVAILABLE with details.retryAfterMs; `detail` is for the log.
[[nodiscard]] ComputeError unavailable(std::string detail);
// RATE_LIMITED with what a 429 said.
[[nodiscard]] ComputeError rate_limited(const Answer& answer);
// A member of an answer; IAM_UNAVAILABLE when it is missing or of another type: a half answer is
// none.
[[nodiscard]] bool get_bool(const Answer& answer, const char* name);
[[nodiscard]] std::string get_text(const Answer& answer, const char* name);
[[nodiscard]] std::optional<std::string> find_text(const Answer& answer, const char* name);
// Epoch milliseconds or an ISO time.
[[nodiscard]] std::optional<std::int64_t> find_time(const Answer& answer, const char* name);

}  // namespace compute::iam::better_iam
