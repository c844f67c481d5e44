#include "modules/events/sealing.h"

#include <array>

#include "core/error.h"
#include "crypto/crypto.h"

namespace compute::events {
namespace {

constexpr std::string_view kInfo = "better-compute/webhook-secret/v1";
constexpr std::string_view kVersion = "v1";

std::string aad(std::string_view webhook_id) {
    return "webhook:" + std::string(webhook_id);
}

std::optional<crypto::Sealed> find_parts(std::string_view sealed) {
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t dot = sealed.find('.');
        if ((dot == std::string_view::npos) != (i + 1 == parts.size())) {
            return std::nullopt;
        }
        parts[i] = sealed.substr(0, dot);
        sealed = dot == std::string_view::npos ? std::string_view{} : sealed.substr(dot + 1);
    }
    auto iv = crypto::from_base64url(parts[1]);
    auto tag = crypto::from_base64url(parts[2]);
    auto text = crypto::from_base64url(parts[3]);
    if (parts[0] != kVersion || !iv || !tag || !text) {
        return std::nullopt;
    }
    return crypto::Sealed{std::move(*iv), std::move(*tag), std::move(*text)};
}

}  // namespace

Sealer::Sealer(
    const crypto::Secret& deployment_secret, const std::vector<crypto::Secret>& previous_secrets
) {
    keys_.push_back(crypto::hkdf_sha256(deployment_secret.reveal(), kInfo, crypto::kAeadKeyBytes));
    for (const crypto::Secret& previous : previous_secrets) {
        keys_.push_back(crypto::hkdf_sha256(previous.reveal(), kInfo, crypto::kAeadKeyBytes));
    }
}

std::string Sealer::seal(const crypto::Secret& secret, std::string_view webhook_id, Rng& rng)
    const {
    const crypto::Sealed sealed =
        crypto::aes256gcm_seal(keys_.front(), secret.reveal(), aad(webhook_id), rng);
    return std::string(kVersion) + "." + crypto::to_base64url(sealed.iv) + "." +
           crypto::to_base64url(sealed.tag) + "." + crypto::to_base64url(sealed.text);
}

std::optional<crypto::Secret> Sealer::open(std::string_view sealed, std::string_view webhook_id)
    const {
    const auto parts = find_parts(sealed);
    if (!parts) {
        return std::nullopt;
    }
    for (const crypto::Secret& key : keys_) {
        if (auto secret = crypto::aes256gcm_open(key, *parts, aad(webhook_id))) {
            return secret;
        }
    }
    return std::nullopt;
}

bool Sealer::is_sealed_with_previous(std::string_view sealed, std::string_view webhook_id) const {
    const auto parts = find_parts(sealed);
    return parts && !crypto::aes256gcm_open(keys_.front(), *parts, aad(webhook_id)) &&
           open(sealed, webhook_id).has_value();
}

}  // namespace compute::events
