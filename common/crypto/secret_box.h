// Secrets at rest: AES-256-GCM under a key derived from the deployment secret, bound to the place
// where they are kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "crypto/secret.h"

namespace compute::crypto {

// Thread-safe. Derives its keys once. What is sealed under the current secret may be sealed again;
// what only a previous one opens is read all the same.
class SecretBox {
public:
    // `info` says what the keys are for (RFC 5869): boxes of another one open nothing of this.
    SecretBox(
        std::string_view info,
        const Secret& deployment_secret,
        const std::vector<Secret>& previous_secrets
    );

    // "v1.<iv>.<tag>.<text>", each base64url. A new IV every time. `place` is what it is bound to.
    [[nodiscard]] std::string seal(const Secret& secret, std::string_view place, Rng& rng) const;
    // With the current deployment secret, then the previous ones. nullopt when none opens it:
    // another deployment's, another place's, or damaged.
    [[nodiscard]] std::optional<Secret> open(std::string_view sealed, std::string_view place) const;
    // True when only a previous secret opens it, so it should be sealed again.
    [[nodiscard]] bool is_sealed_with_previous(std::string_view sealed, std::string_view place)
        const;

private:
    std::vector<Secret> keys_;  // current first
};

}  // namespace compute::crypto
