// A connection that left HTTP by an Upgrade: the taker's own, as blocking calls with a deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/socket.h"

namespace compute::daemon::http {

// Used by one thread at a time. Closed by the destructor.
class UpgradedStream {
public:
    UpgradedStream(Socket socket, std::string leftover);

    // Some bytes, at most `size`: 0 when the peer has finished, nullopt when nothing came in time.
    // Throws INVALID_STATE when the connection is broken.
    [[nodiscard]] std::optional<std::size_t> read(
        char* to, std::size_t size, std::chrono::milliseconds patience
    );
    // All of `bytes`, or false when they could not be sent in time.
    [[nodiscard]] bool write(std::string_view bytes, std::chrono::milliseconds patience);
    void finish_sending() { socket_.finish_sending(); }

    // For a loop of the taker's own; bytes may also wait in has_buffered().
    [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
    [[nodiscard]] bool has_buffered() const { return !leftover_.empty() || socket_.has_buffered(); }

    // For the server, when the upgrade is refused, and for a taker that uses the socket itself:
    // then what the client has sent already is taken first.
    [[nodiscard]] std::string take_leftover() { return std::exchange(leftover_, {}); }
    [[nodiscard]] Socket release() { return std::move(socket_); }

private:
    [[nodiscard]] bool wait(short events, std::chrono::milliseconds patience) const;

    Socket socket_;
    std::string leftover_;  // what the client sent behind its head
};

}  // namespace compute::daemon::http
