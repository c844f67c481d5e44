#include "daemon/http/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <poll.h>

#include "core/error.h"

namespace compute::daemon::http {

using Steady = std::chrono::steady_clock;

UpgradedStream::UpgradedStream(Socket socket, std::string leftover)
    : socket_(std::move(socket)), leftover_(std::move(leftover)) {}

bool UpgradedStream::wait(short events, std::chrono::milliseconds patience) const {
    pollfd watched{socket_.fd(), events, 0};
    return ::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(patience.count(), 0))) == 1;
}

std::optional<std::size_t> UpgradedStream::read(
    char* to, std::size_t size, std::chrono::milliseconds patience
) {
    if (!leftover_.empty()) {
        const std::size_t count = std::min(size, leftover_.size());
        std::memcpy(to, leftover_.data(), count);
        leftover_.erase(0, count);
        return count;
    }
    const auto end = Steady::now() + patience;
    while (true) {
        std::size_t received = 0;
        const Io io = socket_.receive(to, size, received);
        if (io == Io::Done) {
            return received;
        }
        if (io == Io::Closed) {
            return 0;
        }
        if (io == Io::Failed) {
            throw ComputeError(ErrorCode::InvalidState, "the connection is broken");
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now());
        if (left.count() <= 0 || !wait(io == Io::WantWrite ? POLLOUT : POLLIN, left)) {
            return std::nullopt;
        }
    }
}

bool UpgradedStream::write(std::string_view bytes, std::chrono::milliseconds patience) {
    const auto end = Steady::now() + patience;
    while (!bytes.empty()) {
        std::size_t sent = 0;
        const Io io = socket_.send(bytes, sent);
        bytes.remove_prefix(sent);
        if (io == Io::Done) {
            continue;
        }
        if (io == Io::Closed || io == Io::Failed) {
            return false;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now());
        if (left.count() <= 0 || !wait(io == Io::WantRead ? POLLIN : POLLOUT, left)) {
            return false;
        }
    }
    return true;
}

}  // namespace compute::daemon::http
