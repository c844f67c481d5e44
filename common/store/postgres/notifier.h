// Tells other processes that there is something new, after the fact. NOTIFY inside the writing
// transactions would serialise their commits, so it goes over a connection of its own, and calls
// that come close together become one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "store/postgres/connection.h"

namespace compute {
class Log;
}

namespace compute::store::postgres {

// Thread-safe. A notice that cannot be sent is dropped: who waits for it polls as well.
class Notifier {
public:
    Notifier(const Settings& settings, Log& log);
    ~Notifier();
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

    void notify(std::string_view channel);

private:
    using Time = std::chrono::steady_clock::time_point;

    void work(const std::stop_token& stop);
    [[nodiscard]] std::string next_channel(const std::stop_token& stop);
    void send(const std::string& channel);

    const Settings settings_;
    Log& log_;
    std::unique_ptr<Connection> connection_;  // used by the thread only
    std::mutex mutex_;
    std::condition_variable_any asked_;
    std::map<std::string, Time, std::less<>> due_;  // protected by mutex_: what to send, and when
    std::map<std::string, Time, std::less<>> last_sent_;  // protected by mutex_
    std::jthread thread_;  // protected by mutex_; started by the first notify
};

}  // namespace compute::store::postgres
