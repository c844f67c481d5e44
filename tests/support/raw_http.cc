#include "tests/support/raw_http.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

namespace compute::support {

using daemon::http::Io;
using Steady = std::chrono::steady_clock;

namespace {

int connect_to(const std::string& address) {
    const auto colon = address.rfind(':');
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const void* raw = &where;
    if (fd < 0 || ::connect(fd, static_cast<const sockaddr*>(raw), sizeof where) != 0) {
        throw std::runtime_error("cannot connect to " + address);
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

SSL* client_session() {
    static const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    return SSL_new(context.get());
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return std::tolower(c);
    });
    return text;
}

}  // namespace

RawHttp::RawHttp(const std::string& address, Wire wire) {
    const int fd = connect_to(address);
    SSL* session = wire == Wire::Tls ? client_session() : nullptr;
    socket_ = daemon::http::Socket(fd, session);
    if (session == nullptr) {
        return;
    }
    SSL_set_connect_state(session);
    const auto end = Steady::now() + kPatience;
    for (Io io = socket_.handshake(); io != Io::Done; io = socket_.handshake()) {
        if (io == Io::Failed || io == Io::Closed ||
            !wait(io == Io::WantWrite ? POLLOUT : POLLIN, end)) {
            throw std::runtime_error("the TLS handshake failed");
        }
    }
}

bool RawHttp::wait(short events, Steady::time_point end) const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now()).count();
    pollfd watched{socket_.fd(), events, 0};
    return ::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) == 1;
}

bool RawHttp::send(std::string_view bytes) {
    const auto end = Steady::now() + kPatience;
    while (!bytes.empty()) {
        std::size_t sent = 0;
        const Io io = socket_.send(bytes, sent);
        bytes.remove_prefix(sent);
        if (io == Io::Failed || io == Io::Closed) {
            return false;
        }
        if (io != Io::Done && !wait(io == Io::WantRead ? POLLIN : POLLOUT, end)) {
            return false;
        }
    }
    return true;
}

bool RawHttp::read_more(Steady::time_point end) {
    std::array<char, 16384> bytes{};
    while (!is_ended_) {
        std::size_t received = 0;
        const Io io = socket_.receive(bytes.data(), bytes.size(), received);
        if (io == Io::Done) {
            in_.append(bytes.data(), received);
            return true;
        }
        if (io == Io::Closed || io == Io::Failed) {
            is_ended_ = true;
        } else if (!wait(io == Io::WantWrite ? POLLOUT : POLLIN, end)) {
            return false;
        }
    }
    return false;
}

std::optional<RawAnswer> RawHttp::read_answer(bool to_head) {
    const auto end = Steady::now() + kPatience;
    std::size_t head_end = 0;
    while ((head_end = in_.find("\r\n\r\n")) == std::string::npos) {
        if (!read_more(end)) {
            return std::nullopt;
        }
    }
    RawAnswer answer;
    answer.status = std::stoi(in_.substr(in_.find(' ') + 1, 3));
    std::size_t at = in_.find("\r\n") + 2;
    while (at < head_end + 2) {
        const std::size_t line_end = in_.find("\r\n", at);
        const std::string line = in_.substr(at, line_end - at);
        const auto colon = line.find(": ");
        answer.fields[lower(line.substr(0, colon))] = line.substr(colon + 2);
        at = line_end + 2;
    }
    const std::string length = answer.field("content-length");
    const std::size_t body = to_head || length.empty() ? 0 : std::stoul(length);
    while (in_.size() < head_end + 4 + body) {
        if (!read_more(end)) {
            return std::nullopt;
        }
    }
    answer.body = in_.substr(head_end + 4, body);
    in_.erase(0, head_end + 4 + body);
    return answer;
}

std::string RawHttp::read_some(std::chrono::milliseconds patience) {
    if (in_.empty()) {
        read_more(Steady::now() + patience);
    }
    return std::exchange(in_, {});
}

bool RawHttp::is_closed_within(std::chrono::milliseconds patience) {
    const auto end = Steady::now() + patience;
    while (read_more(end)) {
        in_.clear();
    }
    return is_ended_;
}

std::string post(std::string_view target, std::string_view body, std::string_view extra) {
    return "POST " + std::string(target) +
           " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nX-Better-Compute: "
           "1\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n" + std::string(extra) + "\r\n" + std::string(body);
}

}  // namespace compute::support
