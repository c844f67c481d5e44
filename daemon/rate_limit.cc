#include "daemon/rate_limit.h"

#include <algorithm>

#include "crypto/crypto.h"

namespace compute::daemon {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;
constexpr std::int64_t kUsPerMs = 1000;

}  // namespace

RateLimit::RateLimit(int requests_per_second, const Clock& clock)
    : clock_(clock), cost_us_(kUsPerSecond / std::max(requests_per_second, 1)) {}

std::optional<std::int64_t> RateLimit::try_take(const crypto::Secret& credential) {
    std::string key = crypto::sha256(credential.reveal());
    const std::int64_t now_us = clock_.steady_ms() * kUsPerMs;
    return buckets_.with([&](Buckets& buckets) -> std::optional<std::int64_t> {
        auto found = buckets.by_key.find(key);
        if (found == buckets.by_key.end()) {
            if (buckets.by_use.size() == kMaxBuckets) {
                buckets.by_key.erase(buckets.by_use.back().key);
                buckets.by_use.pop_back();
            }
            buckets.by_use.push_front({key, now_us});
            found = buckets.by_key.emplace(std::move(key), buckets.by_use.begin()).first;
        } else {
            buckets.by_use.splice(buckets.by_use.begin(), buckets.by_use, found->second);
        }
        Bucket& bucket = *found->second;
        const std::int64_t full_at = std::max(bucket.full_at_us, now_us) + cost_us_;
        if (full_at - now_us > kUsPerSecond) {
            return (full_at - now_us - kUsPerSecond + kUsPerMs - 1) / kUsPerMs;
        }
        bucket.full_at_us = full_at;
        return std::nullopt;
    });
}

}  // namespace compute::daemon
