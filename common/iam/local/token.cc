#include "iam/local/token.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "crypto/crypto.h"

namespace compute::iam::local {
namespace {

constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kRandomCharacters = 43;
constexpr std::size_t kChecksumCharacters = 6;
constexpr std::size_t kMaxKindCharacters = 16;

std::string checksum(std::string_view text) {
    const std::uint32_t crc = crypto::crc32(text);
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) {
        bytes += static_cast<char>((crc >> shift) & 0xFFU);
    }
    return crypto::to_base64url(bytes);
}

bool is_base64url(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

}  // namespace

crypto::Secret make_token(std::string_view kind, Rng& rng) {
    std::array<char, kRandomBytes> random{};
    rng.fill(random.data(), random.size());
    std::string text(kTokenPrefix);
    text += kind;
    text += '_';
    text += crypto::to_base64url(std::string_view(random.data(), random.size()));
    text += checksum(text);
    random.fill(0);
    return crypto::Secret(std::move(text));
}

std::string token_hash(const crypto::Secret& token) {
    return crypto::to_hex(crypto::sha256(token.reveal()));
}

bool is_well_formed(const crypto::Secret& token) noexcept {
    std::string_view text = token.reveal();
    constexpr std::size_t kTail = 1 + kRandomCharacters + kChecksumCharacters;
    if (text.size() <= kTokenPrefix.size() + kTail || !text.starts_with(kTokenPrefix) ||
        text.size() > kTokenPrefix.size() + kMaxKindCharacters + kTail) {
        return false;
    }
    const std::string_view kind =
        text.substr(kTokenPrefix.size(), text.size() - kTokenPrefix.size() - kTail);
    const std::string_view tail = text.substr(text.size() - kTail);
    const bool is_shaped =
        std::all_of(kind.begin(), kind.end(), [](char c) { return c >= 'a' && c <= 'z'; }) &&
        tail.front() == '_' && std::all_of(tail.begin() + 1, tail.end(), is_base64url);
    const std::string_view body = text.substr(0, text.size() - kChecksumCharacters);
    return is_shaped && crypto::equal_constant_time(checksum(body), text.substr(body.size()));
}

}  // namespace compute::iam::local
