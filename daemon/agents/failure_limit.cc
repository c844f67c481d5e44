#include "daemon/agents/failure_limit.h"

#include <algorithm>

namespace compute::daemon::agents {

void FailureLimit::count(const std::string& address, std::int64_t now_ms) {
    clean_at_.with([&](auto& clean_at) {
        if (clean_at.size() >= kMaxAddresses && !clean_at.contains(address)) {
            std::erase_if(clean_at, [&](const auto& one) { return one.second <= now_ms; });
            if (clean_at.size() >= kMaxAddresses) {
                clean_at.clear();
            }
        }
        std::int64_t& at = clean_at[address];
        at = std::max(at, now_ms) + kRefillMs;
    });
}

std::optional<std::int64_t> FailureLimit::find_wait_ms(
    const std::string& address, std::int64_t now_ms
) const {
    return clean_at_.with([&](const auto& clean_at) -> std::optional<std::int64_t> {
        const auto found = clean_at.find(address);
        if (found == clean_at.end()) {
            return std::nullopt;
        }
        const std::int64_t wait = found->second - now_ms - (kBurst - 1) * kRefillMs;
        return wait > 0 ? std::optional(wait) : std::nullopt;
    });
}

}  // namespace compute::daemon::agents
