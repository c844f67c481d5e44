// Hashes, HMAC and HKDF.
#include <array>

#include <zlib.h>

#include "crypto/crypto.h"
#include "crypto/openssl.h"

namespace compute::crypto {
namespace {

EVP_MAC* hmac_algorithm() {
    static EVP_MAC* const kHmac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    require(kHmac != nullptr, "HMAC");
    return kHmac;
}

EVP_KDF* hkdf_algorithm() {
    static EVP_KDF* const kHkdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
    require(kHkdf != nullptr, "HKDF");
    return kHkdf;
}

MacContext make_hmac(std::string_view key) {
    MacContext context(EVP_MAC_CTX_new(hmac_algorithm()));
    require(context != nullptr, "HMAC context");
    char digest[] = "SHA256";
    const std::array params = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    // An empty key must still be a key: a null pointer would mean "keep the one you have".
    const auto* bytes = key.empty() ? reinterpret_cast<const unsigned char*>("") : bytes_of(key);
    require(EVP_MAC_init(context.get(), bytes, key.size(), params.data()) == 1, "HMAC key");
    return context;
}

std::string finish(EVP_MAC_CTX* context, std::string_view a, std::string_view b) {
    std::string out(kSha256Bytes, '\0');
    std::size_t size = 0;
    require(
        EVP_MAC_update(context, bytes_of(a), a.size()) == 1 &&
            EVP_MAC_update(context, bytes_of(b), b.size()) == 1 &&
            EVP_MAC_final(context, bytes_of(out), &size, out.size()) == 1 && size == out.size(),
        "HMAC"
    );
    return out;
}

}  // namespace

EVP_MD* sha256_algorithm() {
    static EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    require(kSha256 != nullptr, "SHA-256");
    return kSha256;
}

std::string sha256(std::string_view data) {
    thread_local const DigestContext kContext(EVP_MD_CTX_new());
    std::string out(kSha256Bytes, '\0');
    unsigned int size = 0;
    require(
        kContext != nullptr &&
            EVP_DigestInit_ex2(kContext.get(), sha256_algorithm(), nullptr) == 1 &&
            EVP_DigestUpdate(kContext.get(), data.data(), data.size()) == 1 &&
            EVP_DigestFinal_ex(kContext.get(), bytes_of(out), &size) == 1,
        "SHA-256"
    );
    return out;
}

std::string hmac_sha256(std::string_view key, std::string_view data) {
    return finish(make_hmac(key).get(), data, {});
}

struct HmacKey::Impl {
    MacContext context;
    bool is_fresh = true;
};

HmacKey::HmacKey(std::string_view key) : impl_(new Impl{make_hmac(key)}) {}

HmacKey::~HmacKey() {
    delete impl_;
}

std::string HmacKey::sign(std::string_view a, std::string_view b) {
    if (!impl_->is_fresh) {
        require(EVP_MAC_init(impl_->context.get(), nullptr, 0, nullptr) == 1, "HMAC restart");
    }
    impl_->is_fresh = false;
    return finish(impl_->context.get(), a, b);
}

Secret hkdf_sha256(std::string_view key, std::string_view info, std::size_t size) {
    const KdfContext context(EVP_KDF_CTX_new(hkdf_algorithm()));
    require(context != nullptr, "HKDF context");
    char digest[] = "SHA256";
    std::string key_copy(key);
    std::string info_copy(info);
    const std::array params = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key_copy.data(), key_copy.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info_copy.data(), info_copy.size()),
        OSSL_PARAM_construct_end(),
    };
    std::string out(size, '\0');
    const bool is_ok = EVP_KDF_derive(context.get(), bytes_of(out), out.size(), params.data()) == 1;
    OPENSSL_cleanse(key_copy.data(), key_copy.size());
    require(is_ok, "HKDF");
    return Secret(std::move(out));
}

std::uint32_t crc32(std::string_view data) noexcept {
    return static_cast<std::uint32_t>(::crc32_z(0, bytes_of(data), data.size()));
}

}  // namespace compute::crypto
