#include "core/ids.h"

#include <array>
#include <cstdint>

#include "core/clock.h"
#include "core/rng.h"

namespace compute {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr int kBitsPerCharacter = 5;

}  // namespace

std::string crockford32(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() * 8 + kBitsPerCharacter - 1) / kBitsPerCharacter);
    std::uint32_t buffer = 0;
    int bits = 0;
    for (const char byte : bytes) {
        buffer = (buffer << 8) | static_cast<std::uint8_t>(byte);
        bits += 8;
        while (bits >= kBitsPerCharacter) {
            bits -= kBitsPerCharacter;
            out += kAlphabet[(buffer >> bits) & 31U];
        }
    }
    if (bits > 0) {
        out += kAlphabet[(buffer << (kBitsPerCharacter - bits)) & 31U];
    }
    return out;
}

std::string new_id(std::string_view prefix, const Clock& clock, Rng& rng) {
    constexpr std::size_t kTimeCharacters = 10;  // 48 bits of time in 50
    constexpr std::size_t kRandomBytes = 10;     // 80 bits, 16 characters
    std::string id(prefix);
    const auto time = static_cast<std::uint64_t>(clock.now_ms());
    for (std::size_t i = kTimeCharacters; i-- > 0;) {
        id += kAlphabet[(time >> (i * kBitsPerCharacter)) & 31U];
    }
    std::array<char, kRandomBytes> random{};
    rng.fill(random.data(), random.size());
    id += crockford32(std::string_view(random.data(), random.size()));
    return id;
}

}  // namespace compute
