// The thread behind a Sender: lanes and the exchanges under way on one libcurl multi handle, driven
// by epoll. Other threads reach it through the inbox alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "net/exchange.h"
#include "net/resolver.h"
#include "net/sender.h"

namespace compute::net {

struct Resume {
    LaneKey lane;
};
struct DropLane {
    LaneKey lane;
};
struct Resolved {
    Exchange* exchange;
    std::uint64_t serial;
    ResolveResult result;
};
using Command = std::variant<Attempt, Resume, DropLane, Resolved>;

// Where other threads leave work for the loop. Shared with the resolver's callbacks, which can come
// after the sender is gone.
class Inbox {
public:
    Inbox();
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    // False once closed: nothing was taken.
    bool put(Command command);
    bool put(std::vector<Attempt>& attempts);
    // What was put since the last call.
    [[nodiscard]] std::vector<Command> take();
    // Attempts are refused from now on.
    void close();
    void break_off();
    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] bool is_broken_off() const { return is_broken_off_; }
    [[nodiscard]] int event_fd() const noexcept { return event_fd_; }

private:
    void signal();  // with the mutex held

    const int event_fd_;
    mutable std::mutex mutex_;
    std::vector<Command> commands_;
    bool is_closed_ = false;
    bool is_signalled_ = false;
    std::atomic<bool> is_broken_off_ = false;
};

class Sender::Loop {
public:
    Loop(SenderOptions options, SenderOwner& owner, Resolver& resolver, Log& log);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    [[nodiscard]] Inbox& inbox() noexcept { return *inbox_; }
    void cancel(const Attempt& attempt);  // reports it, on the caller's thread
    void join(std::chrono::milliseconds bound);

private:
    struct Lane {
        std::deque<Attempt> waiting;
        bool is_busy = false;    // an exchange works for it
        bool is_held = false;    // until resume
        bool is_queued = false;  // in ready_
    };
    struct Pin {
        std::vector<IpAddress> addresses;
        int users = 0;
    };

    void run();
    void apply(Command command);
    void pump();
    bool start_next(LaneKey key, Lane& lane);
    void settle_lane(LaneKey key);

    [[nodiscard]] Exchange& take_exchange(LaneKey lane);
    void give_back(Exchange& exchange);
    void resolve(Exchange& exchange);
    void on_resolved(Resolved resolved);
    void send(Exchange& exchange, std::vector<IpAddress> addresses);
    [[nodiscard]] StringList pin(Exchange& exchange, const std::vector<IpAddress>& addresses);
    void unpin_some(StringList& list);
    void reap();
    void on_done(Exchange& exchange, CURLcode code);
    void report_answered();
    void finish(Exchange& exchange, AttemptResult result);
    void report(AttemptResult result);

    void set_timer(Exchange& exchange, SteadyTime at);
    void clear_timer(Exchange& exchange);
    void run_timers();
    void wait();
    void cancel_waiting();
    void break_off();

    static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* known);

    const SenderOptions options_;
    SenderOwner& owner_;
    Resolver& resolver_;
    Log& log_;
    const std::string ca_file_;
    const std::shared_ptr<Inbox> inbox_;

    // Of the loop's thread alone, from here on.
    const int epoll_fd_;
    SocketTable sockets_;
    MultiHandle multi_;
    std::vector<std::unique_ptr<Exchange>> exchanges_;
    std::list<Exchange*> idle_;  // least recently used first
    std::unordered_map<LaneKey, Exchange*> last_exchange_;
    std::unordered_map<LaneKey, Lane> lanes_;
    std::deque<LaneKey> ready_;
    std::unordered_map<std::string, Pin> pins_;
    std::set<std::pair<SteadyTime, Exchange*>> timers_;
    std::vector<Exchange*> answered_;
    std::uint64_t last_serial_ = 0;
    bool was_closed_ = false;

    std::mutex end_mutex_;
    std::condition_variable end_signal_;
    bool has_ended_ = false;
    std::thread thread_;
};

}  // namespace compute::net
