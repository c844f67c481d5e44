#include "daemon/api.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "agent_protocol/frame.h"
#include "core/json.h"
#include "daemon/metrics.h"

namespace compute::daemon {
namespace {

constexpr std::string_view kHealth = "/healthz";
constexpr std::string_view kReady = "/readyz";
constexpr std::string_view kMetrics = "/metrics";
constexpr int kUnavailable = 503;

Json parse_input(const std::string& body) {
    if (body.empty()) {
        return Json::object();
    }
    Json input = parse_json(body);
    if (!input.is_object()) {
        throw invalid_input("body: must be a JSON object");
    }
    return input;
}

}  // namespace

Api::Api(Compute& compute, Health& health, Offer offer) : compute_(compute), health_(health) {
    const config::Config& config = compute.config();
    agents_target_ = config.base_path + std::string(agent_protocol::kConnectPath);
    if (config.limits.requests_per_second > 0) {
        rate_limit_.emplace(config.limits.requests_per_second, compute.runtime().clock);
    }
    if (offer == Offer::Methods) {
        for (const auto& [path, method] : compute.registry().methods()) {
            methods_.emplace(config.base_path + "/" + path, path);
        }
    }
}

http::UpgradeHandler* Api::find_upgrade(std::string_view target) const {
    return target == agents_target_ ? agents_ : nullptr;
}

std::optional<http::RouteKind> Api::find_route(std::string_view target, bool is_admin) const {
    if (target == kHealth || target == kReady || target == kMetrics) {
        return http::RouteKind::Plain;
    }
    // Without an Upgrade there is nothing behind it but the advice to ask for one.
    if (!is_admin && agents_ != nullptr && target == agents_target_) {
        return http::RouteKind::Plain;
    }
    if (!is_admin && methods_.find(target) != methods_.end()) {
        return http::RouteKind::Call;
    }
    return std::nullopt;
}

http::Answer Api::handle(const http::Request& request) {
    try {
        return request.kind == http::RouteKind::Call ? handle_call(request) : handle_plain(request);
    } catch (const ComputeError& error) {
        return http::error_answer(error);
    }
}

void Api::check_rate(const http::Request& request) {
    if (!rate_limit_ || !request.credential) {
        return;
    }
    if (const auto wait_ms = rate_limit_->try_take(*request.credential)) {
        throw ComputeError(
            ErrorCode::RateLimited, "too many requests", Json{{"retryAfterMs", *wait_ms}}
        );
    }
}

http::Answer Api::handle_call(const http::Request& request) {
    check_rate(request);
    method::Call call;
    call.path = methods_.find(request.target)->second;
    call.input = parse_input(request.body);
    call.credential = request.credential;
    call.request_id = request.request_id;
    call.source_ip = request.source_ip;
    call.abort = request.abort;
    call.on_wait = request.on_wait;
    http::Answer answer;
    answer.body = "{\"data\":" + dump_json(compute_.call(std::move(call))) + "}";
    return answer;
}

http::Answer Api::ready_answer() {
    const std::vector<std::string> faults = health_.faults();
    http::Answer answer;
    answer.status = faults.empty() ? 200 : kUnavailable;
    Json body{{"ready", faults.empty()}, {"roles", health_.roles()}};
    if (!faults.empty()) {
        body["faults"] = faults;
    }
    answer.body = dump_json(body);
    return answer;
}

http::Answer Api::handle_plain(const http::Request& request) {
    if (request.target == agents_target_) {
        return http::error_answer(ComputeError(
            ErrorCode::InvalidInput,
            "upgrade: Required, " + std::string(agent_protocol::kUpgradeProtocol)
        ));
    }
    if (request.target == kReady) {
        return ready_answer();
    }
    if (request.target == kMetrics) {
        // Nobody else learns that it is here.
        if (!request.is_loopback && !request.is_admin) {
            return http::error_answer(not_found("no such route"));
        }
        http::Answer answer;
        answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
        answer.body = metrics_text(compute_, server_stats_);
        return answer;
    }
    http::Answer answer;
    answer.body = R"({"ok":true})";
    return answer;
}

}  // namespace compute::daemon
