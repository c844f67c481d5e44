// Tokens: `bct_<kind>_` + 43 base64url characters (32 random bytes) + 6 of the CRC-32 over all
// before them. The checksum lets scanners and typing errors be told apart before the database is
// asked; only the SHA-256 is ever stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/rng.h"
#include "crypto/secret.h"

namespace compute::iam::local {

inline constexpr std::string_view kTokenPrefix = "bct_";

// `kind` is 1 to 16 characters of a-z.
[[nodiscard]] crypto::Secret make_token(std::string_view kind, Rng& rng);

// What is stored of a token: SHA-256, hex.
[[nodiscard]] std::string token_hash(const crypto::Secret& token);

// True when the shape and the checksum are right; says nothing about whether the token exists.
[[nodiscard]] bool is_well_formed(const crypto::Secret& token) noexcept;

}  // namespace compute::iam::local
