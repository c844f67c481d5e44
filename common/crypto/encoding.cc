// Hex and base64. OpenSSL decodes leniently, so a text counts only when encoding the bytes again
// gives the same text.
#include <algorithm>
#include <climits>

#include "crypto/crypto.h"
#include "crypto/openssl.h"

namespace compute::crypto {
namespace {

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void replace(std::string& text, char from, char to) {
    std::replace(text.begin(), text.end(), from, to);
}

}  // namespace

std::string to_hex(std::string_view bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 15U];
    }
    return out;
}

std::optional<std::string> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    std::string out;
    out.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_digit(text[i]);
        const int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out += static_cast<char>(high * 16 + low);
    }
    return out;
}

std::string to_base64(std::string_view bytes) {
    if (bytes.size() > INT_MAX / 2) {
        throw internal_error("base64: more than 1 GiB in one piece");
    }
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EncodeBlock writes a NUL behind
    EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), static_cast<int>(bytes.size()));
    out.pop_back();
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0 || text.size() > INT_MAX) {
        return std::nullopt;
    }
    std::string out(text.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(bytes_of(out), bytes_of(text), static_cast<int>(text.size()));
    if (size != static_cast<int>(out.size())) {
        ERR_clear_error();
        return std::nullopt;
    }
    const std::size_t end = text.find_last_not_of('=');
    const std::size_t padding = end == std::string_view::npos ? text.size() : text.size() - end - 1;
    if (padding > std::min<std::size_t>(2, out.size())) {
        return std::nullopt;
    }
    out.resize(out.size() - padding);
    return to_base64(out) == text ? std::optional(std::move(out)) : std::nullopt;
}

std::string to_base64url(std::string_view bytes) {
    std::string out = to_base64(bytes);
    out.erase(std::find(out.begin(), out.end(), '='), out.end());
    replace(out, '+', '-');
    replace(out, '/', '_');
    return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
    if (text.find_first_of("+/=") != std::string_view::npos) {
        return std::nullopt;
    }
    std::string standard(text);
    replace(standard, '-', '+');
    replace(standard, '_', '/');
    standard.append((4 - standard.size() % 4) % 4, '=');
    return from_base64(standard);
}

}  // namespace compute::crypto
