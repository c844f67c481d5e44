// Signing secrets at rest, bound to the webhook's id.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "crypto/secret_box.h"

namespace compute::events {

// Thread-safe. Derives its keys once.
class Sealer {
public:
    Sealer(
        const crypto::Secret& deployment_secret, const std::vector<crypto::Secret>& previous_secrets
    );

    // As SecretBox does it, for the place `webhook:<id>`.
    [[nodiscard]] std::string seal(
        const crypto::Secret& secret, std::string_view webhook_id, Rng& rng
    ) const;
    // With the current deployment secret, then the previous ones. nullopt when none opens it:
    // another deployment's, another webhook's, or damaged.
    [[nodiscard]] std::optional<crypto::Secret> open(
        std::string_view sealed, std::string_view webhook_id
    ) const;
    // True when only a previous secret opens it, so it should be sealed again.
    [[nodiscard]] bool is_sealed_with_previous(std::string_view sealed, std::string_view webhook_id)
        const;

private:
    crypto::SecretBox box_;
};

}  // namespace compute::events
