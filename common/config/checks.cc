#include "config/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <arpa/inet.h>

#include "config/keys.h"

namespace compute::config {

namespace {

constexpr std::string_view kPostgresSchemes[] = {"postgres://", "postgresql://"};

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_alnum(char c) {
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z');
}

std::optional<int> find_number(std::string_view text, int max) {
    int value = 0;
    if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > max) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::size_t> find_postgres_scheme(std::string_view url) {
    for (const std::string_view scheme : kPostgresSchemes) {
        if (url.starts_with(scheme)) {
            return scheme.size();
        }
    }
    return std::nullopt;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        if (text[i] == '%' && i + 2 < text.size()) {
            const auto [end, error] =
                std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
            if (error == std::errc() && end == text.data() + i + 3) {
                out.push_back(static_cast<char>(value));
                i += 2;
                continue;
            }
        }
        out.push_back(text[i]);
    }
    return out;
}

struct Span {
    std::size_t begin;
    std::size_t size;
};

// Where the passwords of a PostgreSQL url stand, in order.
std::vector<Span> password_spans(std::string_view url) {
    std::vector<Span> spans;
    const auto scheme = find_postgres_scheme(url);
    if (!scheme) {
        return spans;
    }
    const std::size_t end = std::min(url.find_first_of("/?", *scheme), url.size());
    const std::string_view authority = url.substr(*scheme, end - *scheme);
    // The last @: a password may hold a bare one, and then all of it must be hidden.
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        if (const std::size_t colon = authority.substr(0, at).find(':');
            colon != std::string_view::npos && colon + 1 < at) {
            spans.push_back({*scheme + colon + 1, at - colon - 1});
        }
    }
    std::size_t begin = url.find('?', end);
    while (begin != std::string_view::npos && begin < url.size()) {
        const std::size_t next = std::min(url.find('&', begin + 1), url.size());
        const std::string_view pair = url.substr(begin + 1, next - begin - 1);
        const std::size_t equals = pair.find('=');
        if (equals != std::string_view::npos && equals + 1 < pair.size()) {
            const std::string name = percent_decoded(pair.substr(0, equals));
            if (name == "password" || name == "sslpassword") {
                spans.push_back({begin + 1 + equals + 1, pair.size() - equals - 1});
            }
        }
        begin = next;
    }
    return spans;
}

// Whether all bits of `bytes` behind the first `prefix` are zero.
template <std::size_t kSize>
bool has_no_host_bits(const std::array<std::uint8_t, kSize>& bytes, int prefix) {
    for (int bit = prefix; bit < static_cast<int>(kSize) * 8; ++bit) {
        const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
        if ((bytes[static_cast<std::size_t>(bit / 8)] & mask) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::optional<HostPort> find_host_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || text.size() > 300) {
        return std::nullopt;
    }
    const auto port = find_number(text.substr(colon + 1), 65535);
    std::string_view host = text.substr(0, colon);
    if (!port || host.empty()) {
        return std::nullopt;
    }
    if (host.front() == '[' && host.back() == ']') {
        const std::string address(host.substr(1, host.size() - 2));
        std::array<std::uint8_t, 16> bytes{};
        if (inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) {
            return std::nullopt;
        }
        return HostPort{address, *port};
    }
    const auto is_host_character = [](char c) {
        return is_alnum(c) || c == '.' || c == '-' || c == '_';
    };
    if (!std::all_of(host.begin(), host.end(), is_host_character)) {
        return std::nullopt;
    }
    return HostPort{std::string(host), *port};
}

bool is_loopback_host(std::string_view host) {
    const std::string text(host);
    std::array<std::uint8_t, 4> v4{};
    if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) {
        return v4[0] == 127;
    }
    std::array<std::uint8_t, 16> v6{};
    if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) {
        std::array<std::uint8_t, 16> loopback{};
        loopback[15] = 1;
        return v6 == loopback;
    }
    return host == "localhost";
}

bool is_cidr(std::string_view text) {
    const std::size_t slash = text.find('/');
    const bool is_single = slash == std::string_view::npos;
    const std::string address(text.substr(0, slash));
    std::array<std::uint8_t, 4> v4{};
    if (inet_pton(AF_INET, address.c_str(), v4.data()) == 1) {
        const auto prefix = is_single ? 32 : find_number(text.substr(slash + 1), 32);
        return prefix && has_no_host_bits(v4, *prefix);
    }
    std::array<std::uint8_t, 16> v6{};
    if (inet_pton(AF_INET6, address.c_str(), v6.data()) == 1) {
        const auto prefix = is_single ? 128 : find_number(text.substr(slash + 1), 128);
        return prefix && has_no_host_bits(v6, *prefix);
    }
    return false;
}

bool is_base_path(std::string_view text) {
    if (text.size() < 2 || text.size() > 128 || text.front() != '/') {
        return false;
    }
    while (!text.empty()) {
        const std::size_t next = std::min(text.find('/', 1), text.size());
        const std::string_view segment = text.substr(1, next - 1);
        const auto is_ok = [](char c) {
            return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '~';
        };
        if (segment.empty() || segment == "." || segment == ".." ||
            !std::all_of(segment.begin(), segment.end(), is_ok)) {
            return false;
        }
        text.remove_prefix(next);
    }
    return true;
}

bool is_tenant_id(std::string_view text) {
    const auto is_ok = [](char c) {
        return is_alnum(c) || c == '.' || c == '_' || c == ':' || c == '-';
    };
    return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), is_ok);
}

bool is_event_family(std::string_view text) {
    if (text.size() > 128 || !text.ends_with(".*")) {
        return false;
    }
    text.remove_suffix(2);
    bool is_segment_empty = true;
    for (const char c : text) {
        if (c == '.') {
            if (is_segment_empty) {
                return false;
            }
            is_segment_empty = true;
        } else if (is_lower(c) || is_digit(c) || c == '-') {
            is_segment_empty = false;
        } else {
            return false;
        }
    }
    return !is_segment_empty;
}

bool is_http_url(std::string_view text) {
    const std::size_t scheme = text.starts_with("https://")  ? 8
                               : text.starts_with("http://") ? 7
                                                             : 0;
    if (scheme == 0 || text.size() > 2048) {
        return false;
    }
    const std::string_view authority = text.substr(scheme, text.find('/', scheme) - scheme);
    const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
    return !authority.empty() && authority.find_first_of("@?#") == std::string_view::npos &&
           std::all_of(text.begin(), text.end(), is_visible);
}

bool is_resource_prefix(std::string_view text) {
    const auto is_ok = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    return !text.empty() && text.size() <= 32 && is_lower(text.front()) &&
           std::all_of(text.begin(), text.end(), is_ok);
}

bool is_database_url(std::string_view text) {
    if (text.find('\0') != std::string_view::npos || text.size() > 4096) {
        return false;
    }
    if (const auto scheme = find_postgres_scheme(text)) {
        return true;
    }
    return (text.starts_with("sqlite:") && text.size() > 7) ||
           (text.ends_with(".db") && text.size() > 3);
}

std::optional<std::string> find_database_file(std::string_view url) {
    if (find_postgres_scheme(url) || url.starts_with("sqlite::memory:")) {
        return std::nullopt;
    }
    if (url.starts_with("sqlite:")) {
        url.remove_prefix(7);
    }
    return std::string(url);
}

std::optional<std::string> find_database_name(std::string_view url) {
    const auto scheme = find_postgres_scheme(url);
    if (!scheme) {
        return std::nullopt;
    }
    url = url.substr(0, url.find('?'));
    const std::size_t slash = url.find('/', *scheme);
    std::string name =
        percent_decoded(slash == std::string_view::npos ? "" : url.substr(slash + 1)).substr(0, 64);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !is_alnum(c) && c != '-' && c != '_'; }, '_'
    );
    return name.empty() ? "postgres" : name;
}

bool has_password(std::string_view url) {
    return !password_spans(url).empty();
}

std::string mask_password(std::string_view url) {
    std::string out;
    std::size_t copied = 0;
    for (const Span& span : password_spans(url)) {
        out.append(url.substr(copied, span.begin - copied)).append(kMask);
        copied = span.begin + span.size;
    }
    return out.append(url.substr(copied));
}

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    }));
}

}  // namespace compute::config
