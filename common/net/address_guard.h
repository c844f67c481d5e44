// The address guard: which addresses a webhook may be sent to. Everything that is not plainly
// public is refused: the special-purpose registries of IANA, multicast, and every IPv6 form that
// carries such an IPv4 address.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace compute::net {

struct GuardRules {
    bool allow_private = false;  // opens every address: development only
    std::vector<Cidr>
        allow_cidrs;  // opened ranges; also matched by an IPv4 address carried in IPv6
};

// Why `address` is refused ("private", "loopback", "link-local", ...), or empty when it may be
// reached.
[[nodiscard]] std::string_view refusal_of(
    const IpAddress& address, const GuardRules& rules
) noexcept;
[[nodiscard]] inline bool is_allowed(const IpAddress& address, const GuardRules& rules) noexcept {
    return refusal_of(address, rules).empty();
}

// True for localhost, *.localhost and *.internal. `host` is normalized: lower case, no trailing
// dot.
[[nodiscard]] bool is_private_host_name(std::string_view host) noexcept;

// The ranges of configuration. Throws INVALID_CONFIG naming `key` and the range that is none.
[[nodiscard]] std::vector<Cidr> parse_cidrs(
    const std::vector<std::string>& texts, std::string_view key
);

}  // namespace compute::net
