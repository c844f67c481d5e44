// IP addresses and ranges as values: what the guard judges and the sender connects to.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace compute::net {

enum class Family : std::uint8_t { V4, V6 };

// An IPv4 or IPv6 address without a zone. An IPv4 address uses the first four bytes; the others are
// 0.
struct IpAddress {
    Family family = Family::V4;
    std::array<std::uint8_t, 16> bytes{};

    friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

    // Only the canonical spellings (inet_pton): "10.0.0.1", "fd00::1"; no brackets, zone, port,
    // octal or short forms.
    [[nodiscard]] static std::optional<IpAddress> find(std::string_view text);
    // From a socket address; nullopt for other families.
    [[nodiscard]] static std::optional<IpAddress> find(const sockaddr& address);
    [[nodiscard]] static IpAddress v4(std::uint32_t host_order);

    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool is_v4() const noexcept { return family == Family::V4; }
};

// A range. `address` has no bit set behind the prefix.
struct Cidr {
    IpAddress address;
    int prefix = 0;

    // "10.0.0.0/8" or a single address. Bits behind the prefix, and anything unusual, are refused.
    [[nodiscard]] static std::optional<Cidr> find(std::string_view text);
    // Addresses of the other family are never in it.
    [[nodiscard]] bool contains(const IpAddress& address) const noexcept;
    [[nodiscard]] std::string text() const;
};

}  // namespace compute::net
