#include "modules/events/policy.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace compute::events {
namespace {

constexpr std::int64_t kMaxBackoffSeconds = 30 * 86'400;

void require(bool is_good, const std::string& key, const std::string& reason) {
    if (!is_good) {
        throw invalid_config(key + ": " + reason);
    }
}

std::int64_t retry_after_ms_of(const net::RetryAfter& after, EpochMs ended_at) {
    std::int64_t wait = 0;
    if (after.seconds) {
        wait = std::min<std::int64_t>(*after.seconds, kMaxRetryAfterMs / 1000) * 1000;
    } else if (after.at) {
        wait = *after.at - ended_at;
    }
    return std::clamp<std::int64_t>(wait, 0, kMaxRetryAfterMs);
}

}  // namespace

void check_options(const config::Config& config) {
    const config::Events& events = config.events;
    require(
        config.secret.empty() || config.secret.size() >= kMinSecretCharacters,
        "secret",
        "must have at least 32 characters"
    );
    require(events.max_per_tenant >= 1, "events.max_per_tenant", "must be at least 1");
    const config::DeliveryPolicy& delivery = events.delivery;
    require(
        delivery.max_attempts >= 1 && delivery.max_attempts <= 100,
        "events.delivery.max_attempts",
        "must be 1 to 100"
    );
    require(
        !delivery.backoff_seconds.empty() && delivery.backoff_seconds.size() <= 100,
        "events.delivery.backoff_seconds",
        "must list 1 to 100 delays"
    );
    for (const std::int64_t seconds : delivery.backoff_seconds) {
        require(
            seconds >= 0 && seconds <= kMaxBackoffSeconds,
            "events.delivery.backoff_seconds",
            "each must be 0 to 2592000"
        );
    }
    require(
        delivery.timeout_ms >= 100 && delivery.timeout_ms <= 300'000,
        "events.delivery.timeout_ms",
        "must be 100 to 300000"
    );
    require(
        delivery.limit >= 1 && delivery.limit <= 1000, "events.delivery.limit", "must be 1 to 1000"
    );
    if (events.retention) {
        const auto is_period = [](double days) {
            return std::isfinite(days) && days >= kMinRetentionDays && days <= 36'500;
        };
        require(
            is_period(events.retention->delivered_days),
            "events.retention.delivered_days",
            "must be at least 1 day"
        );
        require(
            is_period(events.retention->dead_days),
            "events.retention.dead_days",
            "must be at least 1 day"
        );
    }
}

std::int64_t backoff_ms(const config::DeliveryPolicy& policy, int attempt) {
    const std::size_t index = static_cast<std::size_t>(std::max(attempt, 1) - 1);
    return policy.backoff_seconds[std::min(index, policy.backoff_seconds.size() - 1)] * 1000;
}

Verdict judge(
    const config::DeliveryPolicy& policy,
    const net::AttemptResult& result,
    int attempt,
    EpochMs ended_at,
    Rng* jitter
) {
    Verdict verdict;
    verdict.status = result.status;
    if (result.is_success()) {
        verdict.state = DeliveryState::Delivered;
        return verdict;
    }
    std::string error = result.error;
    if (error.empty()) {
        error = result.status ? "HTTP status " + std::to_string(*result.status) : "no answer";
    }
    if (result.status == 410) {
        verdict.state = DeliveryState::Dead;
        error += "; the receiver is gone for good (410), so there are no more attempts";
    } else if (attempt >= policy.max_attempts) {
        verdict.state = DeliveryState::Dead;
    } else {
        std::int64_t delay = backoff_ms(policy, attempt);
        if (jitter != nullptr && delay > 0) {
            delay += static_cast<std::int64_t>(
                jitter->below(static_cast<std::uint64_t>(delay * kJitterPercent / 100 + 1))
            );
        }
        if (result.retry_after && (result.status == 429 || result.status == 503)) {
            delay = std::max(delay, retry_after_ms_of(*result.retry_after, ended_at));
        }
        verdict.next_at = ended_at + delay;
    }
    verdict.error = bounded_text(std::move(error), kMaxLastErrorBytes);
    return verdict;
}

std::string bounded_text(std::string text, std::size_t max_bytes) {
    if (text.size() > max_bytes) {
        std::size_t end = max_bytes;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
            --end;
        }
        text.resize(end);
    }
    return text;
}

}  // namespace compute::events
