#include "cli/client.h"

#include <variant>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "config/checks.h"
#include "core/json.h"
#include "net/url.h"

namespace compute::cli {

namespace {

constexpr std::chrono::milliseconds kTotalTimeout{45'000};  // a call may wait for 30 s
constexpr std::size_t kMaxAnswerBytes = 16U << 20;

std::string base_of(const std::string& url, const config::Config& config) {
    if (!config::is_http_url(url)) {
        throw UsageError("--url: must be an http or https address without a user name");
    }
    std::string base = url;
    while (base.ends_with('/')) {
        base.pop_back();
    }
    const std::size_t authority = base.find("://") + 3;
    return base.find('/', authority) == std::string::npos ? base + config.base_path : base;
}

net::HttpClientOptions client_options() {
    net::HttpClientOptions options;
    options.connect_timeout = std::chrono::milliseconds(5000);
    options.total_timeout = kTotalTimeout;
    options.max_response_bytes = kMaxAnswerBytes;
    return options;
}

[[noreturn]] void throw_answer(const Json& error) {
    const std::string name = error.value("code", "");
    Json details = error.contains("details") && error.at("details").is_object()
                       ? error.at("details")
                       : Json::object();
    if (error.contains("retryAfterMs")) {
        details["retryAfterMs"] = error.at("retryAfterMs");
    }
    const auto code = find_error_code(name);
    ErrorExtra extra;
    if (!details.empty()) {
        extra.details = std::make_shared<const Json>(std::move(details));
    }
    throw ComputeError(
        code.value_or(ErrorCode::InternalError),
        (code ? "" : name + ": ") + error.value("message", "no message"),
        std::move(extra)
    );
}

}  // namespace

void warn_of_plain_http(const std::string& url, Console& console) {
    const net::UrlResult parsed = net::parse_url(url);
    const auto* parts = std::get_if<net::Url>(&parsed);
    if (parts != nullptr && !parts->is_tls && !config::is_loopback_host(parts->host)) {
        console.note(
            "warning: the token goes to " + printable(parts->host) +
            " unencrypted; use an https address"
        );
    }
}

Client::Client(const std::string& url, const config::Config& config, crypto::Secret token)
    : base_(base_of(url, config)), token_(std::move(token)), client_(client_options()) {}

Json Client::call(const std::string& path, const Json& input) {
    net::HttpRequest request;
    request.url = base_ + "/" + path;
    request.body = dump_json(input);
    request.headers = {{"X-Better-Compute", "1"}};
    request.bearer = token_;
    const net::HttpResult result = client_.post(request);
    if (const auto* failure = std::get_if<net::HttpFailure>(&result)) {
        throw ComputeError(
            ErrorCode::InvalidState,
            base_ + ": " + failure->message,
            ErrorExtra{
                nullptr,
                "",
                failure->is_sent ? "the call may have happened; look before you repeat it"
                                 : "does better-compute serve run there?"}
        );
    }
    const auto& response = std::get<net::HttpResponse>(result);
    Json body;
    try {
        body = parse_json(response.body);
    } catch (const ComputeError&) {
        // A proxy or another server altogether; its words are not ours to print.
        throw ComputeError(
            ErrorCode::InvalidState,
            base_ + ": answered " + std::to_string(response.status) + " without JSON",
            ErrorExtra{nullptr, "", "is this the address of better-compute?"}
        );
    }
    if (body.is_object() && body.contains("error") && body.at("error").is_object()) {
        throw_answer(body.at("error"));
    }
    if (response.status != 200 || !body.is_object() || !body.contains("data")) {
        throw ComputeError(
            ErrorCode::InvalidState,
            base_ + ": answered " + std::to_string(response.status) + " in a form unknown here"
        );
    }
    return body.at("data");
}

}  // namespace compute::cli
