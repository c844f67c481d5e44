// The writer: one thread that owns the one connection that writes, and commits in groups. Callers
// queue their functions; the thread begins a transaction, runs each function in a savepoint of its
// own, takes in what was queued meanwhile, and answers all of them after one commit. One fsync pays
// for the whole group.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/transaction.h"

namespace compute::store::sqlite {

// Thread-safe. The destructor finishes what is queued.
class Writer {
public:
    using Body = std::function<void(Transaction&)>;

    Writer(const ConnectionOptions& options, Counting& counting);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // Runs `body` on the writer's thread and returns when it is committed; its exception comes out
    // here. ReadOnly is for a database in memory, which no other connection sees: such a body runs
    // between the groups, on what is committed.
    void run(const Body& body, Access access, Purpose purpose);

private:
    struct Job;
    using JobPtr = std::shared_ptr<Job>;  // shared: the caller may be gone before the promise has
                                          // finished waking it

    void work(const std::stop_token& stop);
    [[nodiscard]] std::vector<JobPtr> take(const std::stop_token& stop);
    bool take_more(std::vector<JobPtr>& group);
    void run_read(Job& job);
    void run_group(std::vector<JobPtr> group);
    // False when the whole transaction was rolled back under it.
    bool run_in_group(Job& job);
    void rerun_after_loss(std::vector<JobPtr>& group, std::size_t culprit);
    void commit(const std::vector<JobPtr>& group);
    void fail_all(const std::vector<JobPtr>& group, const std::exception_ptr& error);
    void roll_back();

    Counting& counting_;
    Connection connection_;  // used by the thread only
    std::mutex mutex_;
    std::condition_variable_any queued_;
    std::deque<JobPtr> queue_;  // protected by mutex_
    bool is_idle_ = false;      // protected by mutex_
    std::jthread thread_;       // last: it uses all of the above
};

}  // namespace compute::store::sqlite
