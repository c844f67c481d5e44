// The writer: one thread that owns the one connection that writes, and commits in groups. Callers
// queue their functions; the thread begins a transaction, runs one function after the other in it,
// takes in what was queued meanwhile, and answers all of them after one commit. One fsync pays for
// the whole group.
//
// A savepoint around each function would make SQLite copy every page that the function shares with
// those before it, so a group runs without. When a function fails that has written nothing, there
// is nothing to undo; when it has, the whole group is rolled back and runs again, this time each
// function in a savepoint of its own, and so do the groups of a while after it.
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
    // Functions that no group has taken yet.
    [[nodiscard]] std::size_t queued() const;

private:
    struct Job;
    enum class Care { Bare, Savepoints };
    using JobPtr = std::shared_ptr<Job>;  // shared: the caller may be gone before the promise has
                                          // finished waking it

    void work(const std::stop_token& stop);
    [[nodiscard]] std::vector<JobPtr> take(const std::stop_token& stop);
    bool take_more(std::vector<JobPtr>& group);
    void run_read(Job& job);
    void run_group(std::vector<JobPtr> group, Care care);
    // False when the whole transaction has to be, or was, rolled back because of it.
    bool run_in_group(Job& job, Care care);
    bool run_bare(Job& job);
    bool run_in_savepoint(Job& job);
    void rerun(std::vector<JobPtr>& group, std::size_t culprit, Care care);
    void commit(const std::vector<JobPtr>& group);
    void fail_all(const std::vector<JobPtr>& group, const std::exception_ptr& error);
    void roll_back();

    Counting& counting_;
    Connection connection_;   // used by the thread only
    int careful_groups_ = 0;  // the thread's own: how many more run with savepoints
    mutable std::mutex mutex_;
    std::condition_variable_any queued_;
    std::deque<JobPtr> queue_;  // protected by mutex_
    bool is_idle_ = false;      // protected by mutex_
    std::jthread thread_;       // last: it uses all of the above
};

}  // namespace compute::store::sqlite
