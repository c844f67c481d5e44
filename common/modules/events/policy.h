// What one attempt's result means for its delivery: pure functions over the policy, no clock, no
// database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"
#include "core/clock.h"
#include "core/rng.h"
#include "net/sender.h"

namespace compute::events {

enum class DeliveryState { Pending = 0, Delivered = 1, Dead = 2, Cancelled = 3 };

inline constexpr std::int64_t kLeaseMarginMs = 30'000;  // a lease is the time-out and this
inline constexpr std::int64_t kMaxRetryAfterMs = 24 * 3'600'000;  // Retry-After counts up to a day
inline constexpr int kJitterPercent = 10;                         // upward only
inline constexpr std::size_t kMaxLastErrorBytes = 512;
inline constexpr std::size_t kMinSecretCharacters = 32;
inline constexpr double kMinRetentionDays = 1;

// Throws INVALID_CONFIG naming the key: attempts 1..100, delays 0..30 days (1..100 of them),
// time-out 100 ms..5 min, limit 1..1,000, at least 1 webhook per tenant, retention of at least a
// day. A secret, when there is one, has at least 32 characters.
void check_options(const config::Config& config);

// The delay after failed attempt number `attempt` (1 is the first): the table's entry, the last one
// repeats.
[[nodiscard]] std::int64_t backoff_ms(const config::DeliveryPolicy& policy, int attempt);

// What is to be written for an attempt that was made.
struct Verdict {
    DeliveryState state = DeliveryState::Pending;
    std::optional<EpochMs> next_at;  // when Pending
    std::optional<int> status;
    std::optional<std::string> error;  // absent for a success; at most kMaxLastErrorBytes
};

// Judges attempt number `attempt` that ended at `ended_at`. A 2xx delivers; 410 or the last attempt
// is dead; all else is tried again after the delay, which Retry-After on 429 and 503 may lengthen.
// `jitter` lengthens it at random when given.
[[nodiscard]] Verdict judge(
    const config::DeliveryPolicy& policy,
    const net::AttemptResult& result,
    int attempt,
    EpochMs ended_at,
    Rng* jitter
);

// At most `max_bytes` of `text`, cut between code points.
[[nodiscard]] std::string bounded_text(std::string text, std::size_t max_bytes);

}  // namespace compute::events
