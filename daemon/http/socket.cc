#include "daemon/http/socket.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace compute::daemon::http {

Socket::Socket(int fd, ssl_st* session) : fd_(fd), session_(session) {
    if (session_ != nullptr) {
        SSL_set_fd(session_, fd_);
        SSL_set_accept_state(session_);
    }
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), session_(std::exchange(other.session_, nullptr)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
        session_ = std::exchange(other.session_, nullptr);
    }
    return *this;
}

Socket::~Socket() {
    close();
}

void Socket::close() noexcept {
    if (session_ != nullptr) {
        SSL_free(std::exchange(session_, nullptr));
    }
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

Io Socket::outcome(int result) const {
    switch (SSL_get_error(session_, result)) {
        case SSL_ERROR_WANT_READ:
            return Io::WantRead;
        case SSL_ERROR_WANT_WRITE:
            return Io::WantWrite;
        case SSL_ERROR_ZERO_RETURN:
            return Io::Closed;
        default:
            return Io::Failed;
    }
}

Io Socket::handshake() {
    if (session_ == nullptr) {
        return Io::Done;
    }
    ERR_clear_error();
    const int result = SSL_do_handshake(session_);
    return result == 1 ? Io::Done : outcome(result);
}

Io Socket::receive(char* to, std::size_t size, std::size_t& received) {
    received = 0;
    if (session_ != nullptr) {
        ERR_clear_error();
        const int result = SSL_read_ex(session_, to, size, &received);
        return result == 1 ? Io::Done : outcome(result);
    }
    while (true) {
        const ssize_t count = ::recv(fd_, to, size, 0);
        if (count > 0) {
            received = static_cast<std::size_t>(count);
            return Io::Done;
        }
        if (count == 0) {
            return Io::Closed;
        }
        if (errno != EINTR) {
            return errno == EAGAIN ? Io::WantRead : Io::Failed;
        }
    }
}

Io Socket::send(std::string_view bytes, std::size_t& sent) {
    sent = 0;
    if (session_ != nullptr) {
        ERR_clear_error();
        const int result = SSL_write_ex(session_, bytes.data(), bytes.size(), &sent);
        return result == 1 ? Io::Done : outcome(result);
    }
    while (true) {
        const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) {
            sent = static_cast<std::size_t>(count);
            return Io::Done;
        }
        if (errno != EINTR) {
            return errno == EAGAIN ? Io::WantWrite : Io::Failed;
        }
    }
}

bool Socket::has_buffered() const {
    return session_ != nullptr && SSL_has_pending(session_) == 1;
}

bool Socket::is_peer_gone() const {
    pollfd watched{fd_, POLLRDHUP, 0};
    return ::poll(&watched, 1, 0) == 1 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Socket::finish_sending() {
    if (session_ != nullptr) {
        ERR_clear_error();
        SSL_shutdown(session_);
    }
    ::shutdown(fd_, SHUT_WR);
}

}  // namespace compute::daemon::http
