#include "daemon/service_manager.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace compute::daemon {
namespace {

std::string variable(const char* name) {
    const char* value =
        std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, before threads
    return value == nullptr ? "" : value;
}

std::optional<std::int64_t> number(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value > 0
               ? std::optional(value)
               : std::nullopt;
}

}  // namespace

ServiceManager::ServiceManager() : socket_(variable("NOTIFY_SOCKET")) {
    const auto interval_us = number(variable("WATCHDOG_USEC"));
    const auto pid = number(variable("WATCHDOG_PID"));
    if (interval_us && (!pid || *pid == ::getpid())) {
        // Twice within the interval, as sd_watchdog_enabled(3) advises.
        watchdog_ = std::chrono::milliseconds(std::max<std::int64_t>(*interval_us / 2000, 1));
    }
}

void ServiceManager::notify(std::string_view state) const noexcept {
    sockaddr_un address{};
    if (socket_.empty() || socket_.size() >= sizeof address.sun_path ||
        (socket_[0] != '/' && socket_[0] != '@')) {
        return;
    }
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    if (socket_[0] == '@') {
        address.sun_path[0] = '\0';  // the abstract namespace
    }
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    void* raw = &address;
    ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, static_cast<sockaddr*>(raw), size);
    ::close(fd);
}

}  // namespace compute::daemon
