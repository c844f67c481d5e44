#include "modules/events/sealing.h"

namespace compute::events {
namespace {

constexpr std::string_view kInfo = "better-compute/webhook-secret/v1";

std::string place_of(std::string_view webhook_id) {
    return "webhook:" + std::string(webhook_id);
}

}  // namespace

Sealer::Sealer(
    const crypto::Secret& deployment_secret, const std::vector<crypto::Secret>& previous_secrets
)
    : box_(kInfo, deployment_secret, previous_secrets) {}

std::string Sealer::seal(const crypto::Secret& secret, std::string_view webhook_id, Rng& rng)
    const {
    return box_.seal(secret, place_of(webhook_id), rng);
}

std::optional<crypto::Secret> Sealer::open(std::string_view sealed, std::string_view webhook_id)
    const {
    return box_.open(sealed, place_of(webhook_id));
}

bool Sealer::is_sealed_with_previous(std::string_view sealed, std::string_view webhook_id) const {
    return box_.is_sealed_with_previous(sealed, place_of(webhook_id));
}

}  // namespace compute::events
