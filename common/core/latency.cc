#include "core/latency.h"

#include <algorithm>
#include <numeric>

namespace compute {

std::uint64_t LatencyHistogram::Snapshot::count() const noexcept {
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

void LatencyHistogram::observe(std::chrono::steady_clock::duration duration) noexcept {
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(passed, 0));
    const auto* bound = std::lower_bound(kBoundsUs.begin(), kBoundsUs.end(), us);
    buckets_[static_cast<std::size_t>(bound - kBoundsUs.begin())].fetch_add(
        1, std::memory_order_relaxed
    );
    total_us_.fetch_add(us, std::memory_order_relaxed);
}

LatencyHistogram::Snapshot LatencyHistogram::snapshot() const noexcept {
    Snapshot out;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        out.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    out.total_us = total_us_.load(std::memory_order_relaxed);
    return out;
}

}  // namespace compute
