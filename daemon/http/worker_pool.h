// The threads that serve requests. A fixed number of them run; a task that begins to wait lends its
// place, so that another thread starts and the number of those that can run stays the same. When it
// is back there is one too many, and the next one to finish its task ends.
//
// There are many more threads than processors, because a task that waits for a commit holds its
// thread. So they are woken two at a time, and each that arrives wakes the next while there is
// work: tasks that wait for nothing are done by the few threads that are awake.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace compute::daemon::http {

// Thread-safe.
class WorkerPool {
public:
    using Task = void*;
    struct Options {
        int threads = 4;
        int max_waiting = 2000;
    };
    // `run` is called on a worker for every task pushed; it must not throw.
    WorkerPool(Options options, std::function<void(Task)> run);
    ~WorkerPool();  // stop()
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    void push(const std::vector<Task>& tasks);

    // From inside a task. False when max_waiting tasks wait already: the task must not wait then,
    // and end_wait is not due.
    [[nodiscard]] bool begin_wait();
    void end_wait();

    // Runs what is queued and ends all threads.
    void stop();

    struct Counts {
        std::size_t threads = 0;
        std::size_t idle = 0;
        std::size_t waiting = 0;
        std::size_t queued = 0;
    };
    [[nodiscard]] Counts counts() const;

private:
    struct Thread {
        WorkerPool* pool = nullptr;
        pthread_t handle{};
        bool has_ended = false;
    };
    static void* enter(void* thread);
    void work(Thread& self);
    bool start_thread();                    // mutex_ held
    void join_ended();                      // mutex_ held
    void wake_some();                       // mutex_ held
    [[nodiscard]] bool is_surplus() const;  // mutex_ held

    const Options options_;
    const std::function<void(Task)> run_;
    mutable std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<Task> queue_;
    std::list<Thread> threads_;
    std::size_t running_ = 0;  // threads that have not ended
    std::size_t idle_ = 0;
    std::size_t woken_ = 0;  // idle threads that were told of work and are on their way
    std::size_t waiting_ = 0;
    bool is_stopping_ = false;
};

}  // namespace compute::daemon::http
