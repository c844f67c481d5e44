// AES-256-GCM and Ed25519.
#include <climits>

#include "crypto/crypto.h"
#include "crypto/openssl.h"

namespace compute::crypto {
namespace {

int int_size(std::string_view text) {
    if (text.size() > static_cast<std::size_t>(INT_MAX)) {
        throw internal_error("openssl: more than 2 GiB in one piece");
    }
    return static_cast<int>(text.size());
}

Pkey private_key(const Secret& seed) {
    Pkey key(EVP_PKEY_new_raw_private_key(
        EVP_PKEY_ED25519, nullptr, bytes_of(seed.reveal()), seed.size()
    ));
    require(key != nullptr, "Ed25519 seed");
    return key;
}

}  // namespace

EVP_CIPHER* aes256gcm_algorithm() {
    static EVP_CIPHER* const kCipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    require(kCipher != nullptr, "AES-256-GCM");
    return kCipher;
}

Sealed aes256gcm_seal(const Secret& key, std::string_view plain, std::string_view aad, Rng& rng) {
    require(key.size() == kAeadKeyBytes, "AES-256-GCM key size");
    Sealed out{
        std::string(kAeadIvBytes, '\0'),
        std::string(kAeadTagBytes, '\0'),
        std::string(plain.size(), '\0')};
    rng.fill(out.iv.data(), out.iv.size());
    const CipherContext context(EVP_CIPHER_CTX_new());
    int size = 0;
    require(
        context != nullptr &&
            EVP_EncryptInit_ex2(
                context.get(),
                aes256gcm_algorithm(),
                bytes_of(key.reveal()),
                bytes_of(out.iv),
                nullptr
            ) == 1 &&
            EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(aad), int_size(aad)) == 1 &&
            EVP_EncryptUpdate(
                context.get(), bytes_of(out.text), &size, bytes_of(plain), int_size(plain)
            ) == 1 &&
            EVP_EncryptFinal_ex(context.get(), bytes_of(out.text) + size, &size) == 1 &&
            EVP_CIPHER_CTX_ctrl(
                context.get(),
                EVP_CTRL_AEAD_GET_TAG,
                static_cast<int>(out.tag.size()),
                out.tag.data()
            ) == 1,
        "AES-256-GCM seal"
    );
    return out;
}

std::optional<Secret> aes256gcm_open(
    const Secret& key, const Sealed& sealed, std::string_view aad
) {
    require(key.size() == kAeadKeyBytes, "AES-256-GCM key size");
    if (sealed.iv.size() != kAeadIvBytes || sealed.tag.size() != kAeadTagBytes) {
        return std::nullopt;
    }
    const CipherContext context(EVP_CIPHER_CTX_new());
    std::string plain(sealed.text.size(), '\0');
    std::string tag = sealed.tag;
    int size = 0;
    require(
        context != nullptr &&
            EVP_DecryptInit_ex2(
                context.get(),
                aes256gcm_algorithm(),
                bytes_of(key.reveal()),
                bytes_of(sealed.iv),
                nullptr
            ) == 1 &&
            EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(aad), int_size(aad)) == 1 &&
            EVP_DecryptUpdate(
                context.get(), bytes_of(plain), &size, bytes_of(sealed.text), int_size(sealed.text)
            ) == 1 &&
            EVP_CIPHER_CTX_ctrl(
                context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), tag.data()
            ) == 1,
        "AES-256-GCM open"
    );
    const bool is_genuine = EVP_DecryptFinal_ex(context.get(), bytes_of(plain) + size, &size) == 1;
    Secret out(std::move(plain));
    if (!is_genuine) {
        ERR_clear_error();
        return std::nullopt;
    }
    return out;
}

Ed25519KeyPair ed25519_from_seed(const Secret& seed) {
    const Pkey key = private_key(seed);
    std::string public_key(32, '\0');
    std::size_t size = public_key.size();
    require(
        EVP_PKEY_get_raw_public_key(key.get(), bytes_of(public_key), &size) == 1,
        "Ed25519 public key"
    );
    return {seed, std::move(public_key)};
}

std::string ed25519_sign(const Secret& seed, std::string_view message) {
    const Pkey key = private_key(seed);
    const DigestContext context(EVP_MD_CTX_new());
    std::string signature(64, '\0');
    std::size_t size = signature.size();
    require(
        context != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
            EVP_DigestSign(
                context.get(), bytes_of(signature), &size, bytes_of(message), message.size()
            ) == 1,
        "Ed25519 sign"
    );
    return signature;
}

bool ed25519_verify(
    std::string_view public_key, std::string_view message, std::string_view signature
) {
    const Pkey key(EVP_PKEY_new_raw_public_key(
        EVP_PKEY_ED25519, nullptr, bytes_of(public_key), public_key.size()
    ));
    const DigestContext context(EVP_MD_CTX_new());
    const bool is_genuine =
        key != nullptr && context != nullptr &&
        EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
        EVP_DigestVerify(
            context.get(), bytes_of(signature), signature.size(), bytes_of(message), message.size()
        ) == 1;
    ERR_clear_error();
    return is_genuine;
}

}  // namespace compute::crypto
