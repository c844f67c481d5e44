#include "store/postgres/listener.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/log.h"
#include "store/postgres/connection.h"

namespace compute::store::postgres {
namespace {

constexpr std::chrono::milliseconds kFirstBackoff{100};
constexpr std::chrono::milliseconds kLongestBackoff{5000};
constexpr std::size_t kMaxChannelName = 40;

void check_channel(std::string_view channel) {
    const bool is_plain = std::all_of(channel.begin(), channel.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || c == '_';
    });
    if (channel.empty() || channel.size() > kMaxChannelName || !is_plain) {
        throw internal_error("a channel must be [a-z_]{1,40}: " + std::string(channel));
    }
}

class PostgresListener final : public Listener {
public:
    PostgresListener(
        Settings settings,
        std::vector<std::string> channels,
        std::function<void(std::string_view)> on_notify,
        Log& log
    )
        : settings_(std::move(settings)),
          channels_(std::move(channels)),
          on_notify_(std::move(on_notify)),
          log_(log),
          wake_(::eventfd(0, EFD_CLOEXEC)) {
        std::unique_ptr<Connection> connection;
        try {
            connection = subscribe();
        } catch (const StoreBusy& error) {
            log_.warning("store.listen_failed", {{"reason", error.message()}});
        }
        thread_ = std::jthread([this, first = std::move(connection)](const std::stop_token& stop
                               ) mutable { work(stop, std::move(first)); });
    }

    ~PostgresListener() override {
        thread_.request_stop();
        const std::uint64_t one = 1;
        (void)!::write(wake_, &one, sizeof one);
        thread_.join();
        ::close(wake_);
    }
    PostgresListener(const PostgresListener&) = delete;
    PostgresListener& operator=(const PostgresListener&) = delete;

private:
    [[nodiscard]] std::unique_ptr<Connection> subscribe() const {
        auto connection = std::make_unique<Connection>(settings_);
        std::string listen;
        for (const std::string& channel : channels_) {
            listen += "listen " + channel + ";";  // checked names: a channel cannot be a parameter
        }
        connection->script(listen);
        return connection;
    }

    void work(const std::stop_token& stop, std::unique_ptr<Connection> connection) {
        auto backoff = kFirstBackoff;
        while (!stop.stop_requested()) {
            if (connection) {
                backoff = kFirstBackoff;
                hear(stop, *connection);
                connection.reset();
                continue;
            }
            try {
                connection = subscribe();
                for (const std::string& channel : channels_) {
                    on_notify_(channel);  // whatever was said meanwhile was missed
                }
            } catch (const ComputeError& error) {
                log_.warning("store.listen_failed", {{"reason", error.message()}});
                wait_for_stop(backoff);
                backoff = std::min(backoff * 2, kLongestBackoff);
            }
        }
    }

    // Until asked to stop or the connection is lost.
    void hear(const std::stop_token& stop, Connection& connection) {
        PGconn* handle = connection.handle();
        while (!stop.stop_requested()) {
            while (PGnotify* notice = PQnotifies(handle)) {
                const std::string channel = notice->relname;
                PQfreemem(notice);
                on_notify_(channel);
            }
            std::array<pollfd, 2> sockets{{
                {.fd = PQsocket(handle), .events = POLLIN, .revents = 0},
                {.fd = wake_, .events = POLLIN, .revents = 0},
            }};
            ::poll(sockets.data(), sockets.size(), -1);
            if (sockets[0].revents != 0 && (PQconsumeInput(handle) != 1 || connection.is_lost())) {
                return;
            }
        }
    }

    void wait_for_stop(std::chrono::milliseconds time) const {
        pollfd socket{.fd = wake_, .events = POLLIN, .revents = 0};
        ::poll(&socket, 1, static_cast<int>(time.count()));
    }

    const Settings settings_;
    const std::vector<std::string> channels_;
    const std::function<void(std::string_view)> on_notify_;
    Log& log_;
    int wake_;
    std::jthread thread_;
};

}  // namespace

std::unique_ptr<Listener> make_listener(
    const Settings& settings,
    std::vector<std::string> channels,
    std::function<void(std::string_view)> on_notify,
    Log& log
) {
    for (const std::string& channel : channels) {
        check_channel(channel);
    }
    return std::make_unique<PostgresListener>(
        settings, std::move(channels), std::move(on_notify), log
    );
}

}  // namespace compute::store::postgres
