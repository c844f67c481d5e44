// A token bucket for each credential: as many calls per second as configured, a second's worth at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/clock.h"
#include "core/guarded.h"
#include "crypto/secret.h"

namespace compute::daemon {

// Thread-safe. Keeps hashes, never credentials, and at most kMaxBuckets of them: the one unused
// longest goes first, and starts full again should it come back.
class RateLimit {
public:
    static constexpr std::size_t kMaxBuckets = 10'000;

    RateLimit(int requests_per_second, const Clock& clock);

    // Takes one call from the credential's bucket; otherwise how many milliseconds until one is
    // there.
    [[nodiscard]] std::optional<std::int64_t> try_take(const crypto::Secret& credential);

private:
    struct Bucket {
        std::string key;
        std::int64_t full_at_us = 0;  // steady time at which the bucket is full again
    };
    struct Buckets {
        std::list<Bucket> by_use;  // most recent first
        std::unordered_map<std::string, std::list<Bucket>::iterator> by_key;
    };

    const Clock& clock_;
    const std::int64_t cost_us_;  // of one call
    Guarded<Buckets> buckets_;
};

}  // namespace compute::daemon
