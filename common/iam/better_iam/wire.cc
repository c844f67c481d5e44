#include "iam/better_iam/wire.h"

#include <utility>
#include <variant>

#include "core/clock.h"
#include "core/json.h"

namespace compute::iam::better_iam {
namespace {

constexpr std::int64_t kRetryAfterMs = 1'000;
constexpr std::size_t kMaxMessageBytes = 256;

std::string full_base(std::string url) {
    while (!url.empty() && url.back() == '/') {
        url.pop_back();
    }
    const std::size_t scheme = url.find("://");
    const bool has_path =
        scheme != std::string::npos && url.find('/', scheme + 3) != std::string::npos;
    return has_path ? url : url + "/api/iam";
}

bool is_no_answer(int status) {
    return status < 200 || (status >= 300 && status < 400) || status == 408 || status == 421 ||
           status >= 500 || (status > 200 && status < 300);
}

Json object_of(const std::string& text) {
    try {
        Json body = parse_json(text);
        return body.is_object() ? body : Json::object();
    } catch (const ComputeError&) {
        return Json::object();
    }
}

std::string error_message(const Json& body, int status) {
    const auto error = body.find("error");
    std::string message = std::to_string(status);
    if (error != body.end() && error->is_object()) {
        for (const char* name : {"code", "message"}) {
            if (const auto part = error->find(name); part != error->end() && part->is_string()) {
                message += " " + part->get<std::string>();
            }
        }
    }
    return message.substr(0, kMaxMessageBytes);
}

}  // namespace

ComputeError unavailable(std::string detail) {
    return ComputeError(
        ErrorCode::IamUnavailable,
        "the identity system does not answer",
        ErrorExtra{
            .details = std::make_shared<const Json>(Json{{"retryAfterMs", kRetryAfterMs}}),
            .log_detail = std::move(detail),
            .hint = {}}
    );
}

ComputeError rate_limited(const Answer& answer) {
    std::int64_t after = kRetryAfterMs;
    if (const auto error = answer.body.find("error");
        error != answer.body.end() && error->is_object()) {
        const auto told = error->find("retryAfterMs");
        if (told != error->end() && told->is_number_integer() && told->get<std::int64_t>() >= 0) {
            after = told->get<std::int64_t>();
        }
    }
    return {
        ErrorCode::RateLimited,
        "the identity system is asked too often",
        Json{{"retryAfterMs", after}}};
}

Wire::Wire(std::string base_url, net::HttpClientOptions options)
    : base_url_(full_base(std::move(base_url))), client_(std::move(options)) {}

Answer Wire::post(
    const std::string& path,
    const crypto::Secret& bearer,
    const Json& body,
    std::chrono::milliseconds total_timeout
) {
    net::HttpRequest request;
    request.url = base_url_ + "/" + path;
    request.body = dump_json(body);
    request.headers = {{"X-Better-IAM", "1"}};
    request.bearer = bearer;
    request.total_timeout = total_timeout;
    const net::HttpResult result = client_.post(request);
    if (const auto* failure = std::get_if<net::HttpFailure>(&result)) {
        throw unavailable(path + ": " + failure->message);
    }
    const auto& response = std::get<net::HttpResponse>(result);
    if (is_no_answer(response.status)) {
        throw unavailable(path + ": status " + std::to_string(response.status));
    }
    Answer answer{response.status, object_of(response.body), {}};
    if (answer.is_ok() && answer.body.empty() && path != "resources/register" &&
        path != "resources/update") {
        throw unavailable(path + ": the answer is no JSON object");
    }
    if (!answer.is_ok()) {
        answer.message = error_message(answer.body, answer.status);
    }
    return answer;
}

bool get_bool(const Answer& answer, const char* name) {
    const auto found = answer.body.find(name);
    if (found == answer.body.end() || !found->is_boolean()) {
        throw unavailable(std::string("the answer has no boolean ") + name);
    }
    return found->get<bool>();
}

std::optional<std::string> find_text(const Answer& answer, const char* name) {
    const auto found = answer.body.find(name);
    if (found == answer.body.end() || !found->is_string() ||
        found->get_ref<const std::string&>().empty()) {
        return std::nullopt;
    }
    return found->get<std::string>();
}

std::string get_text(const Answer& answer, const char* name) {
    auto text = find_text(answer, name);
    if (!text) {
        throw unavailable(std::string("the answer has no text ") + name);
    }
    return *std::move(text);
}

std::optional<std::int64_t> find_time(const Answer& answer, const char* name) {
    const auto found = answer.body.find(name);
    if (found == answer.body.end()) {
        return std::nullopt;
    }
    if (found->is_number_integer()) {
        return found->get<std::int64_t>();
    }
    return found->is_string() ? find_iso_time(found->get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace compute::iam::better_iam
