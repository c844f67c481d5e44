#include "store/postgres/notifier.h"

#include <algorithm>

#include "core/log.h"

namespace compute::store::postgres {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kQuiet{10};  // between two notices of one channel

}  // namespace

Notifier::Notifier(const Settings& settings, Log& log) : settings_(settings), log_(log) {}

Notifier::~Notifier() {
    std::jthread thread;
    {
        const std::lock_guard lock(mutex_);
        thread = std::move(thread_);
    }
    thread.request_stop();
}

void Notifier::notify(std::string_view channel) {
    const std::lock_guard lock(mutex_);
    if (due_.contains(channel)) {
        return;
    }
    const auto sent = last_sent_.find(channel);
    const Time now = SteadyClock::now();
    due_[std::string(channel)] =
        sent == last_sent_.end() ? now : std::max(now, sent->second + kQuiet);
    if (!thread_.joinable()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    }
    asked_.notify_one();
}

void Notifier::work(const std::stop_token& stop) {
    while (true) {
        const std::string channel = next_channel(stop);
        if (channel.empty()) {
            return;
        }
        try {
            send(channel);
        } catch (const ComputeError& error) {
            connection_.reset();
            log_.warning(
                "store.notify_failed", {{"channel", channel}, {"reason", error.log_detail()}}
            );
        }
    }
}

// Waits until one is due. What is asked for while it is being sent is due again after the quiet
// time: none is lost.
std::string Notifier::next_channel(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        asked_.wait(lock, stop, [this] { return !due_.empty(); });
        if (stop.stop_requested() || due_.empty()) {
            return {};
        }
        const auto first =
            std::min_element(due_.begin(), due_.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            });
        const Time when = first->second;
        if (when <= SteadyClock::now()) {
            std::string channel = first->first;
            due_.erase(first);
            last_sent_[channel] = SteadyClock::now();
            return channel;
        }
        // Another channel may become due while this one waits.
        asked_.wait_until(lock, stop, when, [this] {
            const Time now = SteadyClock::now();
            return std::any_of(due_.begin(), due_.end(), [now](const auto& one) {
                return one.second <= now;
            });
        });
    }
}

void Notifier::send(const std::string& channel) {
    if (!connection_ || !connection_->make_ready()) {
        connection_ = std::make_unique<Connection>(settings_);
    }
    // Allowed in a read-only transaction: it changes no table.
    connection_->run({{"select pg_notify($1, '')", {channel}}}, 0);
}

}  // namespace compute::store::postgres
