// An http(s) URL taken apart and normalized once, so that what was judged is what is connected to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "net/address.h"

namespace compute::net {

inline constexpr std::size_t kMaxUrlBytes = 2048;

struct Url {
    bool is_tls = true;
    std::string host;  // lower case ASCII (punycode), no trailing dot; for an IP literal its
                       // canonical text, without brackets
    std::optional<IpAddress> address;  // when the host is an IP literal, in whatever spelling
    std::uint16_t port = 443;
    std::string target;  // path and query, beginning with "/"; percent-encoded
    std::string text;    // the whole, normalized; the port only when it is not the scheme's own
};

// Either the URL or the reason, lower case, without the URL in it ("has a user name or password").
using UrlResult = std::variant<Url, std::string>;

// Parses and normalizes. International host names become punycode (IDNA 2008, non-transitional);
// decimal, octal, hexadecimal and short IPv4 spellings become dotted, IPv6 spellings canonical; a
// trailing dot of the host goes. Refused: other schemes than http and https, user names and
// passwords, fragments, empty hosts (also `https:///x`), zones, control characters and white space,
// over kMaxUrlBytes.
[[nodiscard]] UrlResult parse_url(std::string_view text);

}  // namespace compute::net
