#include "daemon/agents/job_pool.h"

#include <utility>

namespace compute::daemon::agents {

JobPool::JobPool(int threads) {
    for (int i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { run(); });
    }
}

JobPool::~JobPool() {
    stop();
}

void JobPool::add(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        if (is_stopped_) {
            return;
        }
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
}

void JobPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
        jobs_.clear();
    }
    changed_.notify_all();
    threads_.clear();
}

void JobPool::run() {
    while (true) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_stopped_ || !jobs_.empty(); });
        if (is_stopped_) {
            return;
        }
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
    }
}

}  // namespace compute::daemon::agents
