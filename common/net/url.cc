#include "net/url.h"

#include <algorithm>
#include <memory>

#include <curl/curl.h>
#include <idn2.h>
#include <strings.h>

namespace compute::net {
namespace {

struct CurlFree {
    void operator()(char* text) const noexcept { curl_free(text); }
    void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};
using Part = std::unique_ptr<char, CurlFree>;

// The part as curl's parser gives it; empty when absent.
std::string part(CURLU* url, CURLUPart what, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url, what, &text, flags) != CURLUE_OK) {
        return {};
    }
    const Part owned(text);
    return text;
}

bool has_part(CURLU* url, CURLUPart what) {
    char* text = nullptr;
    const bool is_there = curl_url_get(url, what, &text, 0) == CURLUE_OK;
    const Part owned(text);
    return is_there;
}

bool is_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x80;
    });
}

std::string_view refused_character(std::string_view text) noexcept {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            return "has a control character";
        }
        if (c == ' ') {
            return "has a space";
        }
        // Browsers read it as a slash, others do not: what one judges is not where another goes.
        if (c == '\\') {
            return "has a backslash";
        }
    }
    return {};
}

// "https://" with exactly two slashes and something behind that is no slash: curl takes
// `https:///x` as host x.
std::string_view refused_start(std::string_view text) noexcept {
    const std::size_t colon = text.find(':');
    const std::string_view scheme = text.substr(0, colon);
    const auto is_scheme = [&](std::string_view name) {
        return scheme.size() == name.size() &&
               strncasecmp(scheme.data(), name.data(), name.size()) == 0;
    };
    if (!(is_scheme("https") || is_scheme("http")) || text.substr(scheme.size(), 3) != "://") {
        return "must start with https://";
    }
    const std::string_view rest = text.substr(colon + 3);
    if (rest.empty() || rest[0] == '/' || rest[0] == '?' || rest[0] == '#') {
        return "has no host";
    }
    return {};
}

// A DNS name as it may be looked up: labels of 1 to 63 letters, digits, hyphens and underscores,
// 253 in all.
bool is_host_name(std::string_view host) noexcept {
    if (host.empty() || host.size() > 253) {
        return false;
    }
    std::size_t label = 0;
    char last = '.';
    for (const char c : host) {
        if (c == '.') {
            if (label == 0 || last == '-') {
                return false;
            }
            label = 0;
        } else {
            const bool is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                                 (c == '-' && label > 0);
            if (!is_fine || ++label > 63) {
                return false;
            }
        }
        last = c;
    }
    return label > 0 && last != '-';
}

// A last label of digits alone, or 0x..., is an IPv4 spelling to some parsers: as a name it is
// refused.
bool ends_in_number(std::string_view host) noexcept {
    const std::size_t dot = host.rfind('.');
    const std::string_view label = dot == std::string_view::npos ? host : host.substr(dot + 1);
    if (label.empty()) {
        return false;
    }
    const bool is_hex = label.size() > 1 && label[0] == '0' && label[1] == 'x';
    return is_hex ? label.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos
                  : label.find_first_not_of("0123456789") == std::string_view::npos;
}

// Punycode of an international name, lower case; nullopt when IDNA refuses it.
std::optional<std::string> ascii_host(const std::string& host) {
    char* out = nullptr;
    const int code = idn2_to_ascii_8z(
        host.c_str(), &out, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT | IDN2_USE_STD3_ASCII_RULES
    );
    const std::unique_ptr<char, decltype(&idn2_free)> owned(out, &idn2_free);
    return code == IDN2_OK ? std::optional<std::string>(out) : std::nullopt;
}

// Runs a host through curl's parser once more: after percent-decoding and IDNA it may have become
// an IPv4 spelling.
std::string reparse_host(const std::string& host) {
    const std::unique_ptr<CURLU, CurlFree> url(curl_url());
    if (curl_url_set(url.get(), CURLUPART_URL, ("https://" + host + "/").c_str(), 0) != CURLUE_OK) {
        return {};
    }
    return part(url.get(), CURLUPART_HOST);
}

// Fills host and address; returns the reason when it cannot.
std::string_view normalize_host(std::string host, Url& out) {
    if (!host.empty() && host.front() == '[') {
        const auto address = IpAddress::find(std::string_view(host).substr(1, host.size() - 2));
        if (!address || address->is_v4()) {
            return "has an IPv6 address that is none";
        }
        out.address = address;
        out.host = address->text();
        return {};
    }
    if (!is_ascii(host)) {
        auto ascii = ascii_host(host);
        if (!ascii) {
            return "has a host name that is no valid international name";
        }
        host = std::move(*ascii);
    }
    std::transform(host.begin(), host.end(), host.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    if (!host.empty() && host.back() == '.') {
        host.pop_back();
    }
    if (!is_host_name(host)) {
        return "has a host name that is none";
    }
    host = reparse_host(host);
    if (const auto address = IpAddress::find(host); address && address->is_v4()) {
        out.address = address;
        out.host = address->text();
        return {};
    }
    if (!is_host_name(host) || ends_in_number(host)) {
        return "has a host name that is none";
    }
    out.host = std::move(host);
    return {};
}

std::string_view check_parts(CURLU* url) {
    if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
        has_part(url, CURLUPART_OPTIONS)) {
        return "has a user name or password";
    }
    if (has_part(url, CURLUPART_FRAGMENT)) {
        return "has a fragment";
    }
    if (has_part(url, CURLUPART_ZONEID)) {
        return "has an address zone";
    }
    return {};
}

std::string_view reason_of(CURLUcode code) noexcept {
    switch (code) {
        case CURLUE_BAD_PORT_NUMBER:
            return "has a port that is none";
        case CURLUE_UNSUPPORTED_SCHEME:
            return "must start with https://";
        case CURLUE_NO_HOST:
            return "has no host";
        case CURLUE_BAD_IPV6:
            return "has an IPv6 address that is none";
        case CURLUE_BAD_HOSTNAME:
            return "has a host name that is none";
        case CURLUE_USER_NOT_ALLOWED:
            return "has a user name or password";
        default:
            return "is no URL";
    }
}

}  // namespace

UrlResult parse_url(std::string_view text) {
    if (text.empty()) {
        return "is empty";
    }
    if (text.size() > kMaxUrlBytes) {
        return "is longer than 2048 bytes";
    }
    if (const auto why = refused_character(text); !why.empty()) {
        return std::string(why);
    }
    if (const auto why = refused_start(text); !why.empty()) {
        return std::string(why);
    }
    // An empty user ("https://@host") or fragment ("#" at the end) leaves no part behind, so they
    // are looked for in the text.
    const std::string_view authority = text.substr(text.find("://") + 3);
    if (authority.substr(0, authority.find_first_of("/?#")).find('@') != std::string_view::npos) {
        return "has a user name or password";
    }
    if (text.find('#') != std::string_view::npos) {
        return "has a fragment";
    }
    const std::unique_ptr<CURLU, CurlFree> url(curl_url());
    const CURLUcode code =
        curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_URLENCODE);
    if (code != CURLUE_OK) {
        return std::string(reason_of(code));
    }
    if (const auto why = check_parts(url.get()); !why.empty()) {
        return std::string(why);
    }
    Url out;
    const std::string scheme = part(url.get(), CURLUPART_SCHEME);
    if (scheme != "https" && scheme != "http") {
        return "must start with https://";
    }
    out.is_tls = scheme == "https";
    if (const auto why = normalize_host(part(url.get(), CURLUPART_HOST), out); !why.empty()) {
        return std::string(why);
    }
    const int port = std::stoi("0" + part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
    if (port < 1 || port > 65535) {
        return "has a port that is none";
    }
    out.port = static_cast<std::uint16_t>(port);
    out.target = part(url.get(), CURLUPART_PATH);
    if (const std::string query = part(url.get(), CURLUPART_QUERY); !query.empty()) {
        out.target += "?" + query;
    }
    const bool is_v6 = out.address && !out.address->is_v4();
    out.text = scheme + "://" + (is_v6 ? "[" + out.host + "]" : out.host);
    if (out.port != (out.is_tls ? 443 : 80)) {
        out.text += ":" + std::to_string(out.port);
    }
    out.text += out.target;
    // Percent-encoding and punycode can lengthen it.
    if (out.text.size() > kMaxUrlBytes) {
        return "is longer than 2048 bytes";
    }
    return out;
}

}  // namespace compute::net
