#include "crypto/secret_box.h"

#include <array>

#include "crypto/crypto.h"

namespace compute::crypto {
namespace {

constexpr std::string_view kVersion = "v1";

std::optional<Sealed> find_parts(std::string_view sealed) {
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t dot = sealed.find('.');
        if ((dot == std::string_view::npos) != (i + 1 == parts.size())) {
            return std::nullopt;
        }
        parts[i] = sealed.substr(0, dot);
        sealed = dot == std::string_view::npos ? std::string_view{} : sealed.substr(dot + 1);
    }
    auto iv = from_base64url(parts[1]);
    auto tag = from_base64url(parts[2]);
    auto text = from_base64url(parts[3]);
    if (parts[0] != kVersion || !iv || !tag || !text) {
        return std::nullopt;
    }
    return Sealed{std::move(*iv), std::move(*tag), std::move(*text)};
}

}  // namespace

SecretBox::SecretBox(
    std::string_view info,
    const Secret& deployment_secret,
    const std::vector<Secret>& previous_secrets
) {
    keys_.push_back(hkdf_sha256(deployment_secret.reveal(), info, kAeadKeyBytes));
    for (const Secret& previous : previous_secrets) {
        keys_.push_back(hkdf_sha256(previous.reveal(), info, kAeadKeyBytes));
    }
}

std::string SecretBox::seal(const Secret& secret, std::string_view place, Rng& rng) const {
    const Sealed sealed = aes256gcm_seal(keys_.front(), secret.reveal(), place, rng);
    return std::string(kVersion) + "." + to_base64url(sealed.iv) + "." + to_base64url(sealed.tag) +
           "." + to_base64url(sealed.text);
}

std::optional<Secret> SecretBox::open(std::string_view sealed, std::string_view place) const {
    const auto parts = find_parts(sealed);
    if (!parts) {
        return std::nullopt;
    }
    for (const Secret& key : keys_) {
        if (auto secret = aes256gcm_open(key, *parts, place)) {
            return secret;
        }
    }
    return std::nullopt;
}

bool SecretBox::is_sealed_with_previous(std::string_view sealed, std::string_view place) const {
    const auto parts = find_parts(sealed);
    return parts && !aes256gcm_open(keys_.front(), *parts, place) &&
           open(sealed, place).has_value();
}

}  // namespace compute::crypto
