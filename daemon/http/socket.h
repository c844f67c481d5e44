// One accepted connection as a non-blocking stream of bytes, plain or TLS.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

struct ssl_st;

namespace compute::daemon::http {

enum class Io {
    Done,       // some bytes moved, or the handshake is complete
    WantRead,   // again when readable
    WantWrite,  // again when writable
    Closed,     // the peer sends no more
    Failed,
};

// Owned and used by one thread at a time.
class Socket {
public:
    Socket() = default;
    explicit Socket(int fd, ssl_st* session = nullptr);  // takes both over
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    [[nodiscard]] bool is_tls() const noexcept { return session_ != nullptr; }

    Io handshake();
    Io receive(char* to, std::size_t size, std::size_t& received);
    Io send(std::string_view bytes, std::size_t& sent);

    // Whether receive() could give bytes that the kernel no longer has.
    [[nodiscard]] bool has_buffered() const;
    // Whether the peer has closed or reset, or will send no more.
    [[nodiscard]] bool is_peer_gone() const;
    // Says that nothing more will be sent; the peer's bytes can still be read.
    void finish_sending();
    void close() noexcept;

private:
    Io outcome(int result) const;

    int fd_ = -1;
    ssl_st* session_ = nullptr;
};

}  // namespace compute::daemon::http
