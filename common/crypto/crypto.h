// RAII over OpenSSL 3's EVP interfaces: hashes, HMAC, HKDF, AES-256-GCM, Ed25519, randomness and encodings.
// Every function is thread-safe. A failure inside OpenSSL (out of memory, no entropy) is thrown as INTERNAL_ERROR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/rng.h"
#include "crypto/secret.h"

namespace compute::crypto {

inline constexpr std::size_t kSha256Bytes = 32;
inline constexpr std::size_t kAeadKeyBytes = 32;
inline constexpr std::size_t kAeadIvBytes = 12;
inline constexpr std::size_t kAeadTagBytes = 16;

// FIPS 180-4; 32 raw bytes.
[[nodiscard]] std::string sha256(std::string_view data);

// RFC 2104 with SHA-256; 32 raw bytes. Any key length.
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view data);

// An HMAC-SHA256 key made ready once, for many messages (saves the key schedule). Copying shares nothing.
class HmacKey {
public:
    explicit HmacKey(std::string_view key);
    HmacKey(const HmacKey&) = delete;
    HmacKey& operator=(const HmacKey&) = delete;
    ~HmacKey();
    // HMAC over a + b. Not thread-safe on one object.
    [[nodiscard]] std::string sign(std::string_view a, std::string_view b);

private:
    struct Impl;
    Impl* impl_;
};

// RFC 5869 with SHA-256, no salt; `size` bytes, at most 255 * 32.
[[nodiscard]] Secret hkdf_sha256(std::string_view key, std::string_view info, std::size_t size);

// NIST SP 800-38D.
struct Sealed {
    std::string iv;   // 12 bytes
    std::string tag;  // 16 bytes
    std::string text;
};
[[nodiscard]] Sealed aes256gcm_seal(const Secret& key, std::string_view plain, std::string_view aad, Rng& rng);
// nullopt when the key, the additional data or a byte of the sealed value is not the right one.
[[nodiscard]] std::optional<Secret> aes256gcm_open(const Secret& key, const Sealed& sealed, std::string_view aad);

// RFC 8032. Keys and signatures as raw bytes: seed 32, public key 32, signature 64.
struct Ed25519KeyPair {
    Secret seed;
    std::string public_key;
};
[[nodiscard]] Ed25519KeyPair ed25519_from_seed(const Secret& seed);
[[nodiscard]] std::string ed25519_sign(const Secret& seed, std::string_view message);
[[nodiscard]] bool ed25519_verify(std::string_view public_key, std::string_view message, std::string_view signature);

// The operating system's generator (RAND_bytes).
[[nodiscard]] Rng& system_rng();

[[nodiscard]] std::string to_hex(std::string_view bytes);  // lower case
[[nodiscard]] std::optional<std::string> from_hex(std::string_view text);
// RFC 4648. base64url without padding; decoding refuses padding, white space, other alphabets and non-zero spare bits.
[[nodiscard]] std::string to_base64url(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);
[[nodiscard]] std::string to_base64(std::string_view bytes);  // with padding
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

// CRC-32 (ISO 3309, as zlib's crc32).
[[nodiscard]] std::uint32_t crc32(std::string_view data) noexcept;

}  // namespace compute::crypto
