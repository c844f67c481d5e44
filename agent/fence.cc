#include "agent/fence.h"

#include <ctime>

namespace compute::agent {

std::int64_t boottime_ms() noexcept {
    constexpr std::int64_t kMsPerSecond = 1000;
    constexpr std::int64_t kNsPerMs = 1'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * kMsPerSecond + now.tv_nsec / kNsPerMs;
}

}  // namespace compute::agent
