#include "modules/events/signing.h"

#include <charconv>
#include <chrono>

namespace compute::events {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::string_view kVersion = "v1=";
constexpr std::size_t kHexBytes = 2 * crypto::kSha256Bytes;

std::string_view trim(std::string_view text) noexcept {
    const std::size_t from = text.find_first_not_of(' ');
    return from == std::string_view::npos
               ? std::string_view{}
               : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// Decimal digits alone: no sign, space, exponent; at most 15, so nothing overflows.
std::optional<std::int64_t> find_timestamp(std::string_view text) noexcept {
    std::int64_t value = 0;
    if (text.empty() || text.size() > 15 ||
        text.find_first_not_of("0123456789") != std::string_view::npos) {
        return std::nullopt;
    }
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// Compares with every part, so that the time does not tell which one matched.
bool has_part(std::string_view header, std::string_view expected) noexcept {
    bool is_found = false;
    while (!header.empty()) {
        const std::size_t comma = header.find(',');
        const std::string_view part = trim(header.substr(0, comma));
        if (part.size() == kVersion.size() + kHexBytes &&
            part.substr(0, kVersion.size()) == kVersion) {
            is_found |= crypto::equal_constant_time(part.substr(kVersion.size()), expected);
        }
        header = comma == std::string_view::npos ? std::string_view{} : header.substr(comma + 1);
    }
    return is_found;
}

std::int64_t wall_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch()
    )
        .count();
}

}  // namespace

crypto::Secret new_webhook_secret(Rng& rng) {
    std::string bytes(kSecretBytes, '\0');
    rng.fill(bytes.data(), bytes.size());
    const crypto::Secret raw(std::move(bytes));
    return crypto::Secret(std::string(kSecretPrefix) + crypto::to_base64url(raw.reveal()));
}

std::string webhook_signature(
    const crypto::Secret& secret, std::string_view timestamp, std::string_view body
) {
    crypto::HmacKey key(secret.reveal());
    return crypto::to_hex(key.sign(std::string(timestamp) + ".", body));
}

Signer::Signer(const crypto::Secret& current, const crypto::Secret* previous)
    : current_(current.reveal()) {
    if (previous != nullptr) {
        previous_.emplace(previous->reveal());
    }
}

void Signer::add_headers(
    net::HeaderBlock& headers, const SignedDelivery& delivery, bool with_previous
) {
    const std::string timestamp = std::to_string(delivery.now / 1000);
    const bool has_two = with_previous && previous_.has_value();
    const std::string prefix = timestamp + ".";
    std::string signature = "v1=" + crypto::to_hex(current_.sign(prefix, delivery.body));
    if (has_two) {
        signature += ",v1=" + crypto::to_hex(previous_->sign(prefix, delivery.body));
    }
    headers.add("Content-Type", "application/json");
    headers.add("User-Agent", "better-compute-webhooks/1");
    headers.add("X-Better-Compute-Event", delivery.event_type);
    headers.add("X-Better-Compute-Delivery", delivery.delivery_id);
    headers.add("X-Better-Compute-Webhook", delivery.webhook_id);
    headers.add("X-Better-Compute-Timestamp", timestamp);
    headers.add("X-Better-Compute-Signature", signature);
    if (!delivery.standard_headers) {
        return;
    }
    const std::string signed_id = std::string(delivery.delivery_id) + "." + prefix;
    std::string standard = "v1," + crypto::to_base64(current_.sign(signed_id, delivery.body));
    if (has_two) {
        standard += " v1," + crypto::to_base64(previous_->sign(signed_id, delivery.body));
    }
    headers.add("webhook-id", delivery.delivery_id);
    headers.add("webhook-timestamp", timestamp);
    headers.add("webhook-signature", standard);
}

bool verify_webhook_signature(const SignatureCheck& check) noexcept {
    try {  // out of memory or a fault inside OpenSSL: not verified
        const auto timestamp = find_timestamp(check.timestamp);
        if (!timestamp || check.secret.empty() || check.tolerance_seconds < 0) {
            return false;
        }
        const std::int64_t now = check.now_seconds.value_or(wall_seconds());
        if (now < 0) {
            return false;
        }
        const std::int64_t distance = *timestamp > now ? *timestamp - now : now - *timestamp;
        if (distance > check.tolerance_seconds) {
            return false;
        }
        crypto::HmacKey key(check.secret);
        const std::string expected =
            crypto::to_hex(key.sign(std::string(check.timestamp) + ".", check.body));
        return has_part(check.signature, expected);
    } catch (...) {
        return false;
    }
}

}  // namespace compute::events
