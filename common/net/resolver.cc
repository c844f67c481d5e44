#include "net/resolver.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

namespace compute::net {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// A lookup under way for this long is taken for hung: another thread is started when there is work
// waiting.
constexpr std::chrono::milliseconds kHungAfter{250};

struct Waiter {
    SteadyTime deadline;
    std::function<void(ResolveResult)> done;
};

struct Host {
    std::vector<std::uint64_t> next;     // waiters for a lookup that has not begun
    std::vector<std::uint64_t> current;  // waiters of the lookup under way
    bool is_running = false;
};

// Shared by the pool and its threads: a hung lookup can outlive the pool.
struct Shared {
    Lookup lookup;
    ResolverOptions options;

    std::mutex mutex;
    std::condition_variable work;   // the queue has something, or stop
    std::condition_variable watch;  // an earlier deadline, or stop
    std::deque<std::string> queue;  // hosts whose `next` waits for a thread
    std::unordered_map<std::string, Host> hosts;
    std::unordered_map<std::uint64_t, Waiter> waiters;
    std::set<std::pair<SteadyTime, std::uint64_t>> deadlines;
    std::map<std::thread::id, SteadyTime> running;  // since when each busy thread is busy
    std::uint64_t last_id = 0;
    int threads = 0;
    int idle = 0;
    bool is_stopping = false;
};

using Done = std::vector<std::function<void(ResolveResult)>>;

Done take(Shared& shared, const std::vector<std::uint64_t>& ids) {
    Done out;
    for (const std::uint64_t id : ids) {
        if (const auto found = shared.waiters.find(id); found != shared.waiters.end()) {
            shared.deadlines.erase({found->second.deadline, id});
            out.push_back(std::move(found->second.done));
            shared.waiters.erase(found);
        }
    }
    return out;
}

void answer(const Done& done, const ResolveResult& result) {
    for (const auto& each : done) {
        each(result);
    }
}

// One lookup; `lock` is held at entry and exit only.
void run_one(Shared& shared, std::unique_lock<std::mutex>& lock) {
    const std::string name = std::move(shared.queue.front());
    shared.queue.pop_front();
    {
        Host& host = shared.hosts[name];
        host.current = std::exchange(host.next, {});
        const bool is_wanted =
            std::any_of(host.current.begin(), host.current.end(), [&](std::uint64_t id) {
                return shared.waiters.count(id) > 0;
            });
        if (!is_wanted) {  // all were answered by their deadline
            shared.hosts.erase(name);
            return;
        }
        host.is_running = true;
    }
    const auto self = std::this_thread::get_id();
    shared.running[self] = std::chrono::steady_clock::now();
    lock.unlock();
    const ResolveResult result = shared.lookup(name);
    lock.lock();
    shared.running.erase(self);
    Host& host = shared.hosts[name];
    const Done done = take(shared, host.current);
    host.current.clear();
    host.is_running = false;
    if (host.next.empty()) {
        shared.hosts.erase(name);
    } else {
        shared.queue.push_back(name);
    }
    lock.unlock();
    answer(done, result);
    lock.lock();
}

void work_loop(Shared& shared) {
    std::unique_lock lock(shared.mutex);
    while (true) {
        ++shared.idle;
        shared.work.wait(lock, [&] { return shared.is_stopping || !shared.queue.empty(); });
        --shared.idle;
        if (shared.is_stopping) {
            break;
        }
        run_one(shared, lock);
        if (shared.queue.empty() && shared.threads > shared.options.threads) {
            break;
        }
    }
    --shared.threads;
}

// More waits than idle threads will take. An idle thread counts until it runs, so one that was
// woken for an earlier lookup is no help to the next.
bool is_short(const Shared& shared) {
    return shared.queue.size() > static_cast<std::size_t>(shared.idle);
}

bool needs_thread(const Shared& shared) {
    if (!is_short(shared) || shared.threads >= shared.options.max_threads) {
        return false;
    }
    const SteadyTime hung_before = std::chrono::steady_clock::now() - kHungAfter;
    return shared.threads < shared.options.threads ||
           std::all_of(shared.running.begin(), shared.running.end(), [&](const auto& item) {
               return item.second <= hung_before;
           });
}

class PoolResolver final : public Resolver {
public:
    PoolResolver(Lookup lookup, const ResolverOptions& options)
        : shared_(std::make_shared<Shared>()) {
        shared_->lookup = std::move(lookup);
        shared_->options = options;
        watcher_ = std::thread([this] { watch(); });
    }
    PoolResolver(const PoolResolver&) = delete;
    PoolResolver& operator=(const PoolResolver&) = delete;

    ~PoolResolver() override {
        Done done;
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->is_stopping = true;
            std::vector<std::uint64_t> ids;
            for (const auto& [id, waiter] : shared_->waiters) {
                ids.push_back(id);
            }
            done = take(*shared_, ids);
        }
        shared_->work.notify_all();
        shared_->watch.notify_all();
        watcher_.join();
        answer(done, {ResolveStatus::Failed, {}, "the resolver is closing"});
    }

    void resolve(
        const std::string& host,
        std::chrono::milliseconds timeout,
        std::function<void(ResolveResult)> done
    ) override {
        {
            const std::lock_guard lock(shared_->mutex);
            if (!shared_->is_stopping &&
                shared_->waiters.size() < static_cast<std::size_t>(shared_->options.max_waiting)) {
                enqueue(host, std::chrono::steady_clock::now() + timeout, std::move(done));
                return;
            }
        }
        done({ResolveStatus::Failed, {}, "too many lookups are waiting"});
    }

private:
    void enqueue(
        const std::string& name, SteadyTime deadline, std::function<void(ResolveResult)> done
    ) {
        const std::uint64_t id = ++shared_->last_id;
        shared_->waiters.emplace(id, Waiter{deadline, std::move(done)});
        const bool is_earliest =
            shared_->deadlines.empty() || deadline < shared_->deadlines.begin()->first;
        shared_->deadlines.emplace(deadline, id);
        Host& host = shared_->hosts[name];
        host.next.push_back(id);
        if (!host.is_running && host.next.size() == 1) {
            shared_->queue.push_back(name);
        }
        start_thread_if_needed();
        shared_->work.notify_one();
        if (is_earliest || is_short(*shared_)) {
            shared_->watch.notify_one();
        }
    }

    void start_thread_if_needed() {
        if (needs_thread(*shared_)) {
            ++shared_->threads;
            // Detached, as getaddrinfo cannot be broken off: the thread owns what it touches and
            // ends with its lookup.
            std::thread([shared = shared_] { work_loop(*shared); }).detach();
        }
    }

    // Answers what has waited too long, and starts threads past hung ones.
    void watch() {
        std::unique_lock lock(shared_->mutex);
        while (!shared_->is_stopping) {
            start_thread_if_needed();
            if (shared_->deadlines.empty()) {
                shared_->watch.wait(lock);
                continue;
            }
            SteadyTime until = shared_->deadlines.begin()->first;
            if (!shared_->queue.empty()) {
                until = std::min(until, std::chrono::steady_clock::now() + kHungAfter);
            }
            shared_->watch.wait_until(lock, until);
            expire(lock);
        }
    }

    void expire(std::unique_lock<std::mutex>& lock) {
        const SteadyTime now = std::chrono::steady_clock::now();
        std::vector<std::uint64_t> late;
        for (const auto& [deadline, id] : shared_->deadlines) {
            if (deadline > now) {
                break;
            }
            late.push_back(id);
        }
        const Done done = take(*shared_, late);
        if (!done.empty()) {
            lock.unlock();
            answer(done, {ResolveStatus::TimedOut, {}, "no answer from the resolver in time"});
            lock.lock();
        }
    }

    std::shared_ptr<Shared> shared_;
    std::thread watcher_;
};

ResolveResult system_lookup(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;  // each address once
    addrinfo* list = nullptr;
    const int code = getaddrinfo(host.c_str(), nullptr, &hints, &list);
    if (code != 0) {
        const bool is_missing = code == EAI_NONAME || code == EAI_NODATA;
        return {
            is_missing ? ResolveStatus::NotFound : ResolveStatus::Failed, {}, gai_strerror(code)};
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
    ResolveResult out;
    for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
        const auto address = IpAddress::find(*item->ai_addr);
        if (address && std::find(out.addresses.begin(), out.addresses.end(), *address) ==
                           out.addresses.end()) {
            out.addresses.push_back(*address);
        }
    }
    out.status = out.addresses.empty() ? ResolveStatus::NotFound : ResolveStatus::Ok;
    return out;
}

}  // namespace

std::unique_ptr<Resolver> make_pool_resolver(Lookup lookup, const ResolverOptions& options) {
    return std::make_unique<PoolResolver>(std::move(lookup), options);
}

std::unique_ptr<Resolver> make_system_resolver(const ResolverOptions& options) {
    return make_pool_resolver(system_lookup, options);
}

}  // namespace compute::net
