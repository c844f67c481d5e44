// Signatures of deliveries: HMAC-SHA256 over "<timestamp>.<body>", keyed with the webhook's secret.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "crypto/crypto.h"
#include "crypto/secret.h"
#include "net/header_block.h"

namespace compute::events {

inline constexpr std::string_view kSecretPrefix = "whsec_";
inline constexpr std::int64_t kSignatureToleranceSeconds = 300;

// A new signing secret: "whsec_" and 43 base64url characters (32 random bytes).
[[nodiscard]] crypto::Secret new_webhook_secret(Rng& rng);

// Lower-case hex of the HMAC.
[[nodiscard]] std::string webhook_signature(
    const crypto::Secret& secret, std::string_view timestamp, std::string_view body
);

struct SignedDelivery {
    std::string_view event_type;
    std::string_view delivery_id;
    std::string_view webhook_id;
    std::string_view body;
    EpochMs now = 0;
    bool standard_headers =
        false;  // webhook-id, webhook-timestamp and webhook-signature beside our own
};

// Signs with the current secret and, during a rotation, the previous one. Keeps the keys made
// ready: one object per lane. Not thread-safe.
class Signer {
public:
    explicit Signer(const crypto::Secret& current, const crypto::Secret* previous = nullptr);

    // Adds every header of a delivery: Content-Type, User-Agent, X-Better-Compute-*, and the
    // Standard Webhooks set when asked for. `with_previous` false leaves the previous secret out
    // (its time is over).
    void add_headers(
        net::HeaderBlock& headers, const SignedDelivery& delivery, bool with_previous = true
    );

private:
    crypto::HmacKey current_;
    std::optional<crypto::HmacKey> previous_;
};

struct SignatureCheck {
    std::string_view secret;
    std::string_view signature;  // the header: "v1=<hex>[,v1=<hex>]"
    std::string_view timestamp;  // the header: decimal seconds
    std::string_view body;
    std::int64_t tolerance_seconds = kSignatureToleranceSeconds;
    std::optional<std::int64_t> now_seconds;  // of the wall clock when absent
};

// True when any v1 part matches (constant time) and the timestamp is within the tolerance, both
// ways. Never throws: bad input is false.
[[nodiscard]] bool verify_webhook_signature(const SignatureCheck& check) noexcept;

}  // namespace compute::events
