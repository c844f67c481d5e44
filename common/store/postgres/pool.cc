#include "store/postgres/pool.h"

#include <algorithm>
#include <thread>

namespace compute::store::postgres {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstBackoff{50};
constexpr std::chrono::milliseconds kLongestBackoff{1000};

}  // namespace

Pool::Lease Pool::lend(Patience patience) {
    const auto deadline = SteadyClock::now() + settings_.busy_timeout;
    while (std::unique_ptr<Connection> connection = take_idle(deadline)) {
        if (connection->make_ready()) {
            return {*this, std::move(connection)};
        }
        // Ended while it lay idle: its place goes to the next.
        connection.reset();
        give_back(nullptr);
    }
    try {
        return {*this, connect(deadline, patience)};
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

// Null means: open a new one, its place is taken.
std::unique_ptr<Connection> Pool::take_idle(SteadyClock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const bool is_free =
        freed_.wait_until(lock, deadline, [this] { return !idle_.empty() || open_ < size_; });
    if (!is_free) {
        throw StoreBusy("postgres: all " + std::to_string(size_) + " connections are in use");
    }
    if (idle_.empty()) {
        ++open_;
        return nullptr;
    }
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

std::unique_ptr<Connection> Pool::connect(SteadyClock::time_point deadline, Patience patience) {
    for (auto backoff = kFirstBackoff;; backoff = std::min(backoff * 2, kLongestBackoff)) {
        try {
            return std::make_unique<Connection>(settings_);
        } catch (const StoreBusy&) {
            if (patience == Patience::TryOnce || SteadyClock::now() + backoff > deadline) {
                throw;
            }
        }
        std::this_thread::sleep_for(backoff);
    }
}

PoolUse Pool::use() const {
    const std::lock_guard lock(mutex_);
    const auto open = static_cast<std::size_t>(open_);
    return {.size = static_cast<std::size_t>(size_), .open = open, .in_use = open - idle_.size()};
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
    const bool is_kept = connection && !connection->is_lost();
    {
        const std::lock_guard lock(mutex_);
        if (is_kept) {
            idle_.push_back(std::move(connection));
        } else {
            --open_;
        }
    }
    freed_.notify_one();
}

}  // namespace compute::store::postgres
