#include "modules/events/url_guard.h"

#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace compute::events {
namespace {

ComputeError refused(const std::string& reason) {
    return {ErrorCode::InvalidInput, "url: " + reason, Json{{"field", "url"}, {"reason", reason}}};
}

}  // namespace

UrlRules url_rules(const config::Events& config) {
    UrlRules out;
    out.allow_insecure = config.allow_insecure;
    out.guard.allow_private = config.allow_private;
    out.guard.allow_cidrs = net::parse_cidrs(config.allow_cidrs, "events.allow_cidrs");
    return out;
}

net::Url check_webhook_url(std::string_view text, const UrlRules& rules) {
    net::UrlResult parsed = net::parse_url(text);
    if (const auto* reason = std::get_if<std::string>(&parsed)) {
        throw refused(*reason);
    }
    auto& url = std::get<net::Url>(parsed);
    if (!url.is_tls && !rules.allow_insecure) {
        throw refused("must start with https://");
    }
    if (url.address && !net::is_allowed(*url.address, rules.guard)) {
        throw refused("must not be a non-public address");
    }
    if (!url.address && !rules.guard.allow_private && net::is_private_host_name(url.host)) {
        throw refused("must not be localhost, *.localhost or *.internal");
    }
    return std::move(url);
}

}  // namespace compute::events
