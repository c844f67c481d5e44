// The one check of a webhook's URL: create, update, `webhooks check` and every delivery go through
// it.
#pragma once

#include <string_view>

#include "config/config.h"
#include "net/address_guard.h"
#include "net/url.h"

namespace compute::events {

struct UrlRules {
    bool allow_insecure = false;  // permits http
    net::GuardRules guard;        // allow_private and allow_cidrs
};

// Throws INVALID_CONFIG for a range that is none.
[[nodiscard]] UrlRules url_rules(const config::Events& config);

// Normalizes and judges what can be judged without resolving: https, no user name or password, no
// fragment, no IP literal of a non-public address in any spelling, no localhost, *.localhost or
// *.internal. Throws INVALID_INPUT ("url: ...", details.field and details.reason).
[[nodiscard]] net::Url check_webhook_url(std::string_view text, const UrlRules& rules);

}  // namespace compute::events
