#include "daemon/http/worker_pool.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace compute::daemon::http {
namespace {

// Address space, not memory: pages are touched only as deep as the calls go.
constexpr std::size_t kStackBytes = 1024 * 1024;
constexpr std::size_t kMaxOnTheirWay = 2;

}  // namespace

WorkerPool::WorkerPool(Options options, std::function<void(Task)> run)
    : options_(options), run_(std::move(run)) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < options_.threads; ++i) {
        if (!start_thread()) {
            throw internal_error("cannot start a worker thread");
        }
    }
}

WorkerPool::~WorkerPool() {
    stop();
}

bool WorkerPool::start_thread() {
    Thread& thread = threads_.emplace_back();
    thread.pool = this;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    const int failed = pthread_create(&thread.handle, &attributes, &WorkerPool::enter, &thread);
    pthread_attr_destroy(&attributes);
    if (failed != 0) {
        threads_.pop_back();
        return false;
    }
    ++running_;
    return true;
}

void* WorkerPool::enter(void* thread) {
    auto& self = *static_cast<Thread*>(thread);
    self.pool->work(self);
    return nullptr;
}

bool WorkerPool::is_surplus() const {
    return running_ > waiting_ + static_cast<std::size_t>(options_.threads);
}

void WorkerPool::work(Thread& self) {
    std::unique_lock lock(mutex_);
    while (!is_surplus()) {
        if (queue_.empty()) {
            if (is_stopping_) {
                break;
            }
            ++idle_;
            has_work_.wait(lock);
            --idle_;
            woken_ -= std::min<std::size_t>(woken_, 1);
            continue;
        }
        Task task = queue_.front();
        queue_.pop_front();
        wake_some();
        lock.unlock();
        run_(task);
        lock.lock();
    }
    --running_;
    self.has_ended = true;
    // A wake-up may have come to this thread although it ends: it is passed on.
    wake_some();
}

// Never leaves work to nobody: while there is some, either no thread is idle, or one is on its way
// and will call this when it has taken a task.
void WorkerPool::wake_some() {
    const std::size_t wanted = std::min(queue_.size(), kMaxOnTheirWay);
    while (woken_ < wanted && woken_ < idle_) {
        ++woken_;
        has_work_.notify_one();
    }
}

void WorkerPool::push(const std::vector<Task>& tasks) {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), tasks.begin(), tasks.end());
    wake_some();
}

void WorkerPool::join_ended() {
    for (auto thread = threads_.begin(); thread != threads_.end();) {
        if (thread->has_ended) {
            pthread_join(thread->handle, nullptr);
            thread = threads_.erase(thread);
        } else {
            ++thread;
        }
    }
}

bool WorkerPool::begin_wait() {
    const std::lock_guard lock(mutex_);
    if (is_stopping_ || waiting_ >= static_cast<std::size_t>(options_.max_waiting)) {
        return false;
    }
    ++waiting_;
    if (running_ < waiting_ + static_cast<std::size_t>(options_.threads)) {
        join_ended();
        if (!start_thread()) {
            --waiting_;
            return false;
        }
    }
    return true;
}

void WorkerPool::end_wait() {
    const std::lock_guard lock(mutex_);
    --waiting_;
    // Idle threads beyond the number look again and end.
    if (is_surplus() && idle_ > 0) {
        has_work_.notify_one();
    }
}

void WorkerPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    has_work_.notify_all();
    // Nobody adds threads while stopping, so the list is stable without the lock.
    for (Thread& thread : threads_) {
        pthread_join(thread.handle, nullptr);
    }
    threads_.clear();
}

WorkerPool::Counts WorkerPool::counts() const {
    const std::lock_guard lock(mutex_);
    return {running_, idle_, waiting_, queue_.size()};
}

}  // namespace compute::daemon::http
