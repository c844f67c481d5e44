#include "net/address.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace compute::net {

std::optional<IpAddress> IpAddress::find(std::string_view text) {
    // Longer than any address, or with a NUL that would end it early for inet_pton.
    if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) {
        return std::nullopt;
    }
    const std::string copy(text);
    IpAddress out;
    if (inet_pton(AF_INET, copy.c_str(), out.bytes.data()) == 1) {
        return out;
    }
    out.family = Family::V6;
    if (inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1) {
        return out;
    }
    return std::nullopt;
}

std::optional<IpAddress> IpAddress::find(const sockaddr& address) {
    IpAddress out;
    if (address.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        std::memcpy(out.bytes.data(), &v4.sin_addr, 4);
        return out;
    }
    if (address.sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        out.family = Family::V6;
        std::memcpy(out.bytes.data(), &v6.sin6_addr, 16);
        return out;
    }
    return std::nullopt;
}

IpAddress IpAddress::v4(std::uint32_t host_order) {
    IpAddress out;
    for (std::size_t i = 0; i < 4; ++i) {
        out.bytes[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
    }
    return out;
}

std::string IpAddress::text() const {
    std::array<char, INET6_ADDRSTRLEN> out{};
    inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes.data(), out.data(), out.size());
    return out.data();
}

std::optional<Cidr> Cidr::find(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = IpAddress::find(text.substr(0, slash));
    if (!address) {
        return std::nullopt;
    }
    const int width = address->is_v4() ? 32 : 128;
    Cidr out{*address, width};
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), out.prefix);
        const bool is_canonical =
            !digits.empty() && digits.size() <= 3 && (digits.size() == 1 || digits[0] != '0');
        if (error != std::errc{} || end != digits.data() + digits.size() || !is_canonical ||
            out.prefix < 0 || out.prefix > width) {
            return std::nullopt;
        }
    }
    for (int bit = out.prefix; bit < width; ++bit) {
        if ((address->bytes[static_cast<std::size_t>(bit / 8)] & (0x80U >> (bit % 8))) != 0) {
            return std::nullopt;
        }
    }
    return out;
}

bool Cidr::contains(const IpAddress& other) const noexcept {
    if (other.family != address.family) {
        return false;
    }
    const auto whole = static_cast<std::size_t>(prefix / 8);
    if (!std::equal(
            address.bytes.begin(),
            address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
            other.bytes.begin()
        )) {
        return false;
    }
    const int rest = prefix % 8;
    if (rest == 0) {
        return true;
    }
    const auto mask = static_cast<std::uint8_t>(0xff00U >> rest);
    return ((address.bytes[whole] ^ other.bytes[whole]) & mask) == 0;
}

std::string Cidr::text() const {
    return address.text() + "/" + std::to_string(prefix);
}

}  // namespace compute::net
