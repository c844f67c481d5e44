// Waits for a fact that other threads or processes bring about and that nothing announces: it is
// looked at again and again until the deadline, so a test neither guesses a time nor hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace compute::support {

// Whether `fact` came true in time.
[[nodiscard]] inline bool eventually(
    const std::function<bool()>& fact, std::chrono::milliseconds patience = std::chrono::seconds(60)
) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!fact()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        never.wait_for(lock, std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace compute::support
