// The thread behind a Sender: lanes and the exchanges under way on one libcurl multi handle, driven
// by epoll. Other threads reach it through the inbox alone.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "net/exchange.h"
#include "net/inbox.h"
#include "net/resolver.h"
#include "net/sender.h"

namespace compute::net {

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
    std::list<Exchange*> busy_;
    std::unordered_map<LaneKey, Exchange*> last_exchange_;
    std::unordered_map<LaneKey, Lane> lanes_;
    std::deque<LaneKey> ready_;
    std::unordered_map<std::string, int>
        pins_;  // "host:port" in libcurl's cache -> transfers that use it
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
