// Ownership of OpenSSL's objects, and algorithms fetched once. Included by the sources of this room
// only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "core/error.h"

namespace compute::crypto {

template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Deleter<EVP_CIPHER_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Deleter<EVP_MD_CTX_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Deleter<EVP_MAC_CTX_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, Deleter<EVP_KDF_CTX_free>>;
using Pkey = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

// Throws INTERNAL_ERROR with OpenSSL's reason for the log when `is_ok` is false; the thread's error
// queue is left empty.
inline void require(bool is_ok, std::string_view what) {
    if (is_ok) {
        return;
    }
    char reason[256] = "no reason given";
    if (const unsigned long code = ERR_get_error(); code != 0) {
        ERR_error_string_n(code, reason, sizeof reason);
    }
    ERR_clear_error();
    throw internal_error("openssl: " + std::string(what) + ": " + reason);
}

inline const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* bytes_of(std::string& text) noexcept {
    return reinterpret_cast<unsigned char*>(text.data());
}

// Fetching costs more than hashing a short text, so it is done once per process. Never freed:
// OpenSSL's own exit handler may run first.
EVP_MD* sha256_algorithm();
EVP_CIPHER* aes256gcm_algorithm();

}  // namespace compute::crypto
