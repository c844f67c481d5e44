// Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries, RFC 5771 and 4291
// (multicast), RFC 3879 (site-local), RFC 7526 (6to4 relays).
#include "net/address_guard.h"

#include <algorithm>
#include <initializer_list>

#include "core/error.h"

namespace compute::net {
namespace {

struct Range {
    Cidr cidr;
    std::string_view why;
};

Range range(std::string_view text, std::string_view why) {
    return {Cidr::find(text).value(), why};
}

const std::vector<Range>& refused_v4() {
    static const std::vector<Range> kRanges = {
        range("0.0.0.0/8", "this network"),
        range("10.0.0.0/8", "private"),
        range("100.64.0.0/10", "carrier-grade NAT"),
        range("127.0.0.0/8", "loopback"),
        range("169.254.0.0/16", "link-local"),
        range("172.16.0.0/12", "private"),
        range("192.0.0.0/24", "protocol assignments"),
        range("192.0.2.0/24", "documentation"),
        range("192.88.99.0/24", "6to4 relay"),
        range("192.168.0.0/16", "private"),
        range("198.18.0.0/15", "benchmarking"),
        range("198.51.100.0/24", "documentation"),
        range("203.0.113.0/24", "documentation"),
        range("224.0.0.0/4", "multicast"),
        range("240.0.0.0/4", "reserved"),
    };
    return kRanges;
}

// These carry an IPv4 address in their last four bytes and are judged as it.
const std::vector<Cidr>& carrying_v4() {
    static const std::vector<Cidr> kRanges = {
        Cidr::find("::ffff:0:0/96").value(),    // IPv4-mapped
        Cidr::find("::ffff:0:0:0/96").value(),  // IPv4-translated
        Cidr::find("64:ff9b::/96").value(),     // NAT64
    };
    return kRanges;
}

const std::vector<Range>& refused_v6() {
    static const std::vector<Range> kRanges = {
        range("::1/128", "loopback"),
        range("::/96", "unspecified or IPv4-compatible"),
        range("64:ff9b:1::/48", "local NAT64"),
        range("100::/64", "discard-only"),
        range("2001::/23", "protocol assignments"),
        range("2001:db8::/32", "documentation"),
        range("2002::/16", "6to4"),
        range("fc00::/7", "private"),
        range("fe80::/10", "link-local"),
        range("fec0::/10", "site-local"),
        range("ff00::/8", "multicast"),
    };
    return kRanges;
}

std::string_view find_refusal(const std::vector<Range>& ranges, const IpAddress& address) noexcept {
    const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const Range& item) {
        return item.cidr.contains(address);
    });
    return found == ranges.end() ? std::string_view{} : found->why;
}

bool is_opened(const IpAddress& address, const GuardRules& rules) noexcept {
    return std::any_of(rules.allow_cidrs.begin(), rules.allow_cidrs.end(), [&](const Cidr& cidr) {
        return cidr.contains(address);
    });
}

}  // namespace

std::string_view refusal_of(const IpAddress& address, const GuardRules& rules) noexcept {
    if (rules.allow_private || is_opened(address, rules)) {
        return {};
    }
    if (address.is_v4()) {
        return find_refusal(refused_v4(), address);
    }
    for (const Cidr& cidr : carrying_v4()) {
        if (cidr.contains(address)) {
            IpAddress inner;
            std::copy(address.bytes.begin() + 12, address.bytes.end(), inner.bytes.begin());
            return refusal_of(inner, rules);
        }
    }
    return find_refusal(refused_v6(), address);
}

bool is_private_host_name(std::string_view host) noexcept {
    const auto is_under = [&](std::string_view suffix) {
        return host.size() > suffix.size() && host.substr(host.size() - suffix.size()) == suffix;
    };
    return host == "localhost" || is_under(".localhost") || host == "internal" ||
           is_under(".internal");
}

std::vector<Cidr> parse_cidrs(const std::vector<std::string>& texts, std::string_view key) {
    std::vector<Cidr> out;
    out.reserve(texts.size());
    for (const std::string& text : texts) {
        const auto cidr = Cidr::find(text);
        if (!cidr) {
            throw invalid_config(
                std::string(key) + ": \"" + text.substr(0, 64) + "\" is no address range",
                "write it like 10.20.0.0/16 or fd00:1::/32, with no bit set behind the prefix"
            );
        }
        out.push_back(*cidr);
    }
    return out;
}

}  // namespace compute::net
