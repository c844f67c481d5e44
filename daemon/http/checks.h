// The rules of the transport that come after a readable head, in the order of the contract: route
// and verb, then the CSRF fields, then the announced size. What comes later (JSON, credential,
// input) is the handler's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/handler.h"
#include "daemon/http/head.h"

namespace compute::daemon::http {

// Where a request came from.
struct Peer {
    std::string address;
    bool is_admin = false;
};

// `request_id` of the head when it is a legal one, else nullopt.
[[nodiscard]] std::optional<std::string> find_request_id(const Head& head);

// The address to attribute the request to: the peer's, or behind a proxy the last hop it reports.
[[nodiscard]] std::string source_address(const Head& head, const Peer& peer, bool is_behind_proxy);

[[nodiscard]] bool is_loopback_address(std::string_view address);

struct Verdict {
    std::optional<Answer> refusal;
    bool must_close = false;  // the body is not read: the connection cannot be used again
};

// Fills kind, target, credential of `request`, or says how it is refused.
[[nodiscard]] Verdict check_request(
    const Head& head, const Peer& peer, const Handler& handler, Request& request
);

// Who takes the request by an Upgrade; null when it asks for none or nobody does.
[[nodiscard]] UpgradeHandler* find_upgrade(const Head& head, const Handler& handler);

// The token of `Authorization: Bearer TOKEN`; nullopt for none, an empty one, or another scheme.
[[nodiscard]] std::optional<crypto::Secret> find_credential(const Head& head);

}  // namespace compute::daemon::http
