// A small blocking client for JSON services we call ourselves: the remote IAM, and the command line
// talking to a server. Everything is bounded: time, answer bytes, connections. It is not for
// tenants' URLs: nothing is judged here.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "crypto/secret.h"

namespace compute::net {

struct HttpClientOptions {
    std::string ca_file;  // empty: the system's bundle
    std::chrono::milliseconds connect_timeout{1000};
    std::chrono::milliseconds total_timeout{5000};
    std::size_t max_response_bytes = 1024 * 1024;
    int max_connections = 16;  // idle ones kept for reuse; more calls at once open more
};

struct HttpRequest {
    std::string url;  // http or https
    std::string body;
    std::vector<std::pair<std::string, std::string>>
        headers;                                 // Content-Type: application/json is added
    crypto::Secret bearer;                       // not empty: Authorization: Bearer
    std::chrono::milliseconds total_timeout{0};  // 0: the client's
};

struct HttpResponse {
    int status = 0;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
    [[nodiscard]] std::string_view header(std::string_view lower_case_name
    ) const noexcept;  // first, or empty
};

struct HttpFailure {
    bool is_sent = false;  // true: the request may have been received
    std::string message;   // "connection refused", "no answer within 5 s", ...
};

using HttpResult = std::variant<HttpResponse, HttpFailure>;

// Thread-safe: each call uses a handle of its own from a pool.
class HttpClient {
public:
    explicit HttpClient(HttpClientOptions options = {});
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    // Never follows redirects, never uses a proxy, never sends cookies. Blocks at most the total
    // time-out. An answer larger than the limit is a failure (is_sent).
    [[nodiscard]] HttpResult post(const HttpRequest& request);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::net
