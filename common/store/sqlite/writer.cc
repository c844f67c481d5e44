#include "store/sqlite/writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace compute::store::sqlite {
namespace {

// How many functions, and how much of their running time, one commit may wait for: the first of a
// group pays for the last.
constexpr std::size_t kMaxGroup = 512;
constexpr std::chrono::milliseconds kMaxGroupTime{10};
// How many groups take no chances after one had to run twice: whoever fails again and again makes
// others wait for it this seldom.
constexpr int kCarefulGroups = 100;

}  // namespace

struct Writer::Job {
    Job(const Body& body_in, Access access_in, Purpose purpose_in)
        : body(body_in), access(access_in), purpose(purpose_in) {}

    const Body& body;  // the caller waits, so it lives
    Access access;
    Purpose purpose;
    std::exception_ptr error;
    std::vector<std::function<void()>> hooks;
    std::promise<void> promise;

    void answer() {
        if (error) {
            promise.set_exception(error);
        } else {
            promise.set_value();
        }
    }
};

Writer::Writer(const ConnectionOptions& options, Counting& counting)
    : counting_(counting),
      connection_(options),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Writer::~Writer() = default;

void Writer::run(const Body& body, Access access, Purpose purpose) {
    check_not_nested();
    const auto job = std::make_shared<Job>(body, access, purpose);
    std::future<void> answer = job->promise.get_future();
    bool must_wake = false;
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back(job);
        must_wake = is_idle_;
    }
    if (must_wake) {
        queued_.notify_one();
    }
    answer.get();
    for (const auto& hook : job->hooks) {
        hook();
    }
}

void Writer::work(const std::stop_token& stop) {
    while (true) {
        std::vector<JobPtr> group = take(stop);
        if (group.empty()) {
            return;
        }
        if (group.front()->access == Access::ReadOnly) {
            run_read(*group.front());
        } else {
            const Care care = careful_groups_ > 0 ? Care::Savepoints : Care::Bare;
            careful_groups_ = std::max(0, careful_groups_ - 1);
            run_group(std::move(group), care);
        }
    }
}

// The first job, when there is one; empty when asked to stop and all is done.
std::vector<Writer::JobPtr> Writer::take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    is_idle_ = true;
    queued_.wait(lock, stop, [this] { return !queue_.empty(); });
    is_idle_ = false;
    std::vector<JobPtr> group;
    if (!queue_.empty()) {
        group.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return group;
}

bool Writer::take_more(std::vector<JobPtr>& group) {
    const std::lock_guard lock(mutex_);
    const std::size_t before = group.size();
    while (!queue_.empty() && group.size() < kMaxGroup &&
           queue_.front()->access == Access::ReadWrite) {
        group.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return group.size() > before;
}

std::size_t Writer::queued() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
}

void Writer::run_read(Job& job) {
    connection_.set_query_only(true);
    try {
        const DepthGuard depth;
        SqliteTransaction tx(connection_, Access::ReadOnly, counting_.of(job.purpose));
        connection_.execute("begin");
        job.body(tx);
        tx.check_committable();
        job.hooks = tx.take_hooks();
    } catch (...) {
        job.error = std::current_exception();
    }
    roll_back();
    connection_.set_query_only(false);
    job.answer();
}

void Writer::run_group(std::vector<JobPtr> group, Care care) {
    const auto deadline = std::chrono::steady_clock::now() + kMaxGroupTime;
    try {
        connection_.execute("begin immediate");
    } catch (...) {
        fail_all(group, std::current_exception());
        return;
    }
    for (std::size_t next = 0; next < group.size() || take_more(group);) {
        if (!run_in_group(*group[next], care)) {
            rerun(group, next, care);
            return;
        }
        ++next;
        if (next == group.size() && std::chrono::steady_clock::now() > deadline) {
            break;
        }
    }
    commit(group);
}

// None of the group was answered, so all of it may run again, in the same order; the culprit too,
// for it may have failed because of what another had written and not yet committed. With savepoints
// only an error that takes the whole transaction with it (disk full, I/O, a conflict clause of
// ROLLBACK) leads here: then the culprit gets its error and the others run, one fewer each time, so
// this ends.
void Writer::rerun(std::vector<JobPtr>& group, std::size_t culprit, Care care) {
    roll_back();
    if (care == Care::Savepoints || culprit == 0) {
        const JobPtr failed = group[culprit];
        group.erase(group.begin() + static_cast<std::ptrdiff_t>(culprit));
        failed->answer();
    }
    careful_groups_ = kCarefulGroups;
    for (const JobPtr& job : group) {
        counting_.of(job->purpose).retries.fetch_add(1, std::memory_order_relaxed);
        job->error = nullptr;
        job->hooks.clear();
    }
    if (!group.empty()) {
        run_group(std::move(group), Care::Savepoints);
    }
}

bool Writer::run_in_group(Job& job, Care care) {
    return care == Care::Bare ? run_bare(job) : run_in_savepoint(job);
}

bool Writer::run_bare(Job& job) {
    Counting::Cell& count = counting_.of(job.purpose);
    const std::uint64_t before = connection_.work_done();
    try {
        const DepthGuard depth;
        SqliteTransaction tx(connection_, Access::ReadWrite, count);
        job.body(tx);
        tx.check_committable();
        job.hooks = tx.take_hooks();
        return true;
    } catch (...) {
        job.error = std::current_exception();
    }
    if (connection_.is_autocommit() || connection_.work_done() != before) {
        return false;
    }
    count.rollbacks.fetch_add(1, std::memory_order_relaxed);
    return true;
}

bool Writer::run_in_savepoint(Job& job) {
    Counting::Cell& count = counting_.of(job.purpose);
    try {
        connection_.execute("savepoint job");
        const DepthGuard depth;
        SqliteTransaction tx(connection_, Access::ReadWrite, count);
        job.body(tx);
        tx.check_committable();
        connection_.execute("release job");
        job.hooks = tx.take_hooks();
        return true;
    } catch (...) {
        job.error = std::current_exception();
    }
    count.rollbacks.fetch_add(1, std::memory_order_relaxed);
    if (connection_.is_autocommit()) {
        return false;
    }
    try {
        connection_.execute("rollback to job");
        connection_.execute("release job");
        return true;
    } catch (...) {
        return false;  // the job's own error is the one to report
    }
}

// If the process dies before the commit returns, nobody was answered and SQLite recovers either all
// of the group or nothing of it. If it dies behind it, the rows are there and the callers, who died
// with us, do not know.
void Writer::commit(const std::vector<JobPtr>& group) {
    try {
        connection_.execute("commit");
    } catch (...) {
        roll_back();
        fail_all(group, std::current_exception());
        return;
    }
    counting_.of(group.front()->purpose).commits.fetch_add(1, std::memory_order_relaxed);
    for (const JobPtr& job : group) {
        job->answer();
    }
}

void Writer::fail_all(const std::vector<JobPtr>& group, const std::exception_ptr& error) {
    for (const JobPtr& job : group) {
        if (!job->error) {
            job->error = error;
        }
        job->answer();
    }
}

void Writer::roll_back() {
    if (connection_.is_autocommit()) {
        return;
    }
    try {
        connection_.execute("rollback");
    } catch (const ComputeError&) {
        // SQLite has rolled back by itself: nothing is left to do.
    }
}

}  // namespace compute::store::sqlite
