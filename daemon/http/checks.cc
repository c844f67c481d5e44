#include "daemon/http/checks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <arpa/inet.h>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::daemon::http {
namespace {

constexpr std::size_t kMaxRequestIdBytes = 128;
constexpr std::int64_t kMsPerSecond = 1000;

bool is_request_id_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// `application/json`, alone or with parameters.
bool is_json_type(const std::string* value) {
    if (value == nullptr) {
        return false;
    }
    const std::string_view text = *value;
    return lower_case(trim(text.substr(0, text.find(';')))) == "application/json";
}

bool is_ip_address(const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> out{};
    return inet_pton(AF_INET, text.c_str(), out.data()) == 1 ||
           inet_pton(AF_INET6, text.c_str(), out.data()) == 1;
}

Verdict refuse(ErrorCode code, std::string message, bool must_close = false) {
    return {error_answer(ComputeError(code, std::move(message))), must_close};
}

}  // namespace

Answer error_answer(const ComputeError& error) {
    Answer answer;
    answer.status = error_info(error.code()).http_status;
    answer.body = dump_json(error_body(error));
    if (error.code() == ErrorCode::InternalError) {
        return answer;
    }
    if (const auto after = retry_after_ms(error); after && *after >= 0) {
        answer.headers.emplace_back(
            "Retry-After",
            std::to_string(*after / kMsPerSecond + (*after % kMsPerSecond == 0 ? 0 : 1))
        );
    }
    return answer;
}

std::optional<std::string> find_request_id(const Head& head) {
    const std::string* given = head.find_only("x-request-id");
    if (given == nullptr || given->empty() || given->size() > kMaxRequestIdBytes ||
        !std::all_of(given->begin(), given->end(), is_request_id_char)) {
        return std::nullopt;
    }
    return *given;
}

std::string source_address(const Head& head, const Peer& peer, bool is_behind_proxy) {
    if (!is_behind_proxy) {
        return peer.address;
    }
    // Each proxy appends the address it was called from, so only the last hop is our own proxy's
    // word.
    for (auto field = head.fields.rbegin(); field != head.fields.rend(); ++field) {
        if (field->name != "x-forwarded-for") {
            continue;
        }
        const std::string_view value = field->value;
        const auto comma = value.rfind(',');
        const std::string hop(
            trim(comma == std::string_view::npos ? value : value.substr(comma + 1))
        );
        return is_ip_address(hop) ? hop : peer.address;
    }
    return peer.address;
}

bool is_loopback_address(std::string_view address) {
    const std::string text(address);
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24) == 127;
    }
    in6_addr v6{};
    if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) {
        return false;
    }
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        return v6.s6_addr[12] == 127;
    }
    return IN6_IS_ADDR_LOOPBACK(&v6);
}

std::optional<crypto::Secret> find_credential(const Head& head) {
    const std::string* value = head.find_only("authorization");
    constexpr std::string_view kScheme = "bearer ";
    if (value == nullptr || value->size() <= kScheme.size() ||
        lower_case(std::string_view(*value).substr(0, kScheme.size())) != kScheme) {
        return std::nullopt;
    }
    const std::string_view token = trim(std::string_view(*value).substr(kScheme.size()));
    if (token.empty()) {
        return std::nullopt;
    }
    return crypto::Secret(std::string(token));
}

UpgradeHandler* find_upgrade(const Head& head, const Handler& handler) {
    if (head.method != "GET" || head.minor_version == 0 ||
        !head.has_token("connection", "upgrade") || head.find_only("upgrade") == nullptr) {
        return nullptr;
    }
    return handler.find_upgrade(head.target);
}

Verdict check_request(
    const Head& head, const Peer& peer, const Handler& handler, Request& request
) {
    const auto kind = handler.find_route(head.target, peer.is_admin);
    if (!kind) {
        return refuse(ErrorCode::NotFound, "no such route");
    }
    const std::string_view verb = *kind == RouteKind::Call ? "POST" : "GET";
    if (head.method != verb) {
        Verdict verdict =
            refuse(ErrorCode::MethodNotAllowed, "this route takes " + std::string(verb) + " only");
        verdict.refusal->headers.emplace_back("Allow", verb);
        return verdict;
    }
    request.kind = *kind;
    request.target = head.target;
    request.is_admin = peer.is_admin;
    if (*kind == RouteKind::Call) {
        if (!is_json_type(head.find_only("content-type"))) {
            return refuse(ErrorCode::CsrfRejected, "content-type: must be application/json");
        }
        const std::string* marker = head.find_only("x-better-compute");
        if (marker == nullptr || *marker != "1") {
            return refuse(ErrorCode::CsrfRejected, "x-better-compute: must be 1");
        }
    }
    if (head.content_length && *head.content_length > kMaxBodyBytes) {
        return refuse(ErrorCode::PayloadTooLarge, "body: larger than 65,536 bytes", true);
    }
    request.credential = find_credential(head);
    return {};
}

}  // namespace compute::daemon::http
