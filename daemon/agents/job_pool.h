// Threads for what the loop of the agents' connections must not wait for: the database.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace compute::daemon::agents {

// Thread-safe. Jobs must not throw.
class JobPool {
public:
    explicit JobPool(int threads);
    ~JobPool();  // stop()
    JobPool(const JobPool&) = delete;
    JobPool& operator=(const JobPool&) = delete;

    // Nothing happens after stop().
    void add(std::function<void()> job);
    // Drops what has not begun and waits for what has.
    void stop();

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool is_stopped_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace compute::daemon::agents
