#include "bench/sink/sink.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace compute::bench {

struct Request {
    std::string_view target;
    std::string_view delivery;
    bool is_signed = false;
    bool wants_close = false;
    std::size_t body_bytes = 0;
};

struct Peer {
    int fd = -1;
    std::uint64_t serial = 0;
    SSL* tls = nullptr;
    bool is_shaken = true;
    bool is_waiting = false;  // the answer comes later, or never
    bool is_closing = false;  // after what is in `out`
    bool watches_write = false;
    std::string in;
    std::string out;
    ~Peer() {
        SSL_free(tls);
        ::close(fd);
    }
};

namespace {

std::int64_t now_ms() {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               steady_clock::now().time_since_epoch()
    )
        .count();
}

std::uint64_t number_after(std::string_view text, std::string_view name, std::uint64_t otherwise) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) {
        return otherwise;
    }
    const std::string_view digits = text.substr(at + name.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), otherwise);
    return otherwise;
}

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

bool is_name(std::string_view line, std::string_view name) {
    return line.size() > name.size() && line[name.size()] == ':' &&
           strncasecmp(line.data(), name.data(), name.size()) == 0;
}

std::string_view value_of(std::string_view line) {
    const std::size_t colon = line.find(':');
    const std::size_t from = line.find_first_not_of(' ', colon + 1);
    return from == std::string_view::npos ? std::string_view{} : line.substr(from);
}

// `head` is one whole head, request line first.
Request parse(std::string_view head) {
    Request out;
    const std::size_t space = head.find(' ');
    const std::size_t line_end = head.find("\r\n");
    out.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    for (std::size_t at = line_end + 2; at < head.size();) {
        const std::size_t end = head.find("\r\n", at);
        const std::string_view line = head.substr(at, end - at);
        if (is_name(line, "Content-Length")) {
            out.body_bytes = number_after(line, ":", 0);
            const std::string_view value = value_of(line);
            std::from_chars(value.data(), value.data() + value.size(), out.body_bytes);
        } else if (is_name(line, "X-Better-Compute-Delivery")) {
            out.delivery = value_of(line);
        } else if (is_name(line, "X-Better-Compute-Signature")) {
            out.is_signed = true;
        } else if (is_name(line, "Connection")) {
            out.wants_close = strncasecmp(value_of(line).data(), "close", 5) == 0;
        }
        at = end + 2;
    }
    return out;
}

void append_answer(std::string& out, std::uint64_t status, std::string_view body = {}) {
    if (status == 204) {
        out += "HTTP/1.1 204 No Content\r\n\r\n";
        return;
    }
    out += "HTTP/1.1 " + std::to_string(status) +
           " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    out += body;
}

}  // namespace

Sink::Sink(const SinkOptions& options) : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {
    listener_ = listen_on(options.port, port_);
    if (options.tls_port >= 0) {
        tls_ = SSL_CTX_new(TLS_server_method());
        SSL_CTX_set_mode(tls_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        constexpr std::string_view kContext = "sink";
        SSL_CTX_set_session_id_context(
            tls_, reinterpret_cast<const unsigned char*>(kContext.data()), kContext.size()
        );
        if (SSL_CTX_use_certificate_chain_file(tls_, options.cert.c_str()) != 1 ||
            SSL_CTX_use_PrivateKey_file(tls_, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
            throw std::runtime_error("bench_sink: certificate or key cannot be used");
        }
        tls_listener_ = listen_on(options.tls_port, tls_port_);
    }
}

Sink::~Sink() {
    peers_.clear();
    SSL_CTX_free(tls_);
    ::close(epoll_fd_);
}

int Sink::listen_on(int port, int& bound) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd, generic, size) != 0 || ::listen(fd, 4096) != 0 ||
        ::getsockname(fd, generic, &size) != 0) {
        throw std::runtime_error("bench_sink: cannot listen on port " + std::to_string(port));
    }
    bound = ntohs(address.sin_port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
    return fd;
}

void Sink::run() {
    std::array<epoll_event, 256> events{};
    while (true) {
        const std::int64_t wait =
            late_.empty() ? -1 : std::max<std::int64_t>(0, late_.begin()->first - now_ms());
        const int count = epoll_wait(
            epoll_fd_, events.data(), static_cast<int>(events.size()), static_cast<int>(wait)
        );
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            if (event.data.fd == listener_ || event.data.fd == tls_listener_) {
                accept_from(event.data.fd, event.data.fd == tls_listener_);
            } else if (const auto found = peers_.find(event.data.fd); found != peers_.end()) {
                on_event(*found->second, event.events);
            }
        }
        answer_late();
    }
}

void Sink::accept_from(int listener, bool is_tls) {
    while (true) {
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        auto peer = std::make_unique<Peer>();
        peer->fd = fd;
        peer->serial = ++last_serial_;
        if (is_tls) {
            peer->tls = SSL_new(tls_);
            SSL_set_fd(peer->tls, fd);
            peer->is_shaken = false;
        }
        ++figures_.connections;
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
        peers_[fd] = std::move(peer);
    }
}

void Sink::on_event(Peer& peer, unsigned events) {
    if (!peer.is_shaken && !shake_hands(peer)) {
        return;
    }
    if ((events & EPOLLOUT) != 0 && !flush(peer)) {
        return;
    }
    if (read_some(peer)) {
        serve(peer);
    }
}

// False while the handshake goes on, or when it failed and the peer is gone.
bool Sink::shake_hands(Peer& peer) {
    ERR_clear_error();
    const int result = SSL_accept(peer.tls);
    if (result == 1) {
        peer.is_shaken = true;
        figures_.resumed_tls += static_cast<std::uint64_t>(SSL_session_reused(peer.tls));
        return true;
    }
    const int reason = SSL_get_error(peer.tls, result);
    if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) {
        drop(peer);
    }
    return false;
}

// False when the peer is gone.
bool Sink::read_some(Peer& peer) {
    static std::array<char, 65536> piece;
    while (true) {
        ssize_t got = 0;
        bool is_empty = false;
        if (peer.tls != nullptr) {
            ERR_clear_error();
            got = SSL_read(peer.tls, piece.data(), static_cast<int>(piece.size()));
            is_empty =
                got <= 0 && SSL_get_error(peer.tls, static_cast<int>(got)) == SSL_ERROR_WANT_READ;
        } else {
            got = ::recv(peer.fd, piece.data(), piece.size(), 0);
            is_empty = got < 0 && errno == EAGAIN;
        }
        if (is_empty) {
            return true;
        }
        if (got <= 0) {
            drop(peer);
            return false;
        }
        peer.in.append(piece.data(), static_cast<std::size_t>(got));
        if (peer.tls == nullptr && static_cast<std::size_t>(got) < piece.size()) {
            return true;
        }
    }
}

// Answers every whole request that has come in.
void Sink::serve(Peer& peer) {
    std::size_t used = 0;
    while (!peer.is_waiting && !peer.is_closing) {
        const std::string_view rest = std::string_view(peer.in).substr(used);
        const std::size_t end = rest.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            break;
        }
        const Request request = parse(rest.substr(0, end + 2));
        if (rest.size() < end + 4 + request.body_bytes) {
            break;
        }
        answer(peer, request);
        used += end + 4 + request.body_bytes;
    }
    peer.in.erase(0, used);
    flush(peer);
}

void Sink::answer(Peer& peer, const Request& request) {
    peer.is_closing = request.wants_close;
    if (starts_with(request.target, "/count")) {
        append_answer(peer.out, 200, figures_json());
        return;
    }
    if (starts_with(request.target, "/reset")) {
        figures_ = {};
        distinct_.clear();
        append_answer(peer.out, 204);
        return;
    }
    if (figures_.requests++ == 0) {
        figures_.first_ms = now_ms();
    }
    figures_.body_bytes += request.body_bytes;
    figures_.signed_requests += request.is_signed ? 1 : 0;
    if (!request.delivery.empty()) {
        distinct_.emplace(request.delivery);
    }
    if (starts_with(request.target, "/slow")) {
        ++figures_.slow;
        peer.is_waiting = true;
        const auto delay = static_cast<std::int64_t>(number_after(request.target, "ms=", 1000));
        late_.emplace(now_ms() + delay, std::pair(peer.fd, peer.serial));
    } else if (starts_with(request.target, "/hang")) {
        ++figures_.hung;
        peer.is_waiting = true;
    } else if (starts_with(request.target, "/fail")) {
        ++figures_.failed;
        append_answer(peer.out, number_after(request.target, "code=", 500));
    } else {
        ++figures_.fast;
        figures_.last_fast_ms = now_ms();
        append_answer(peer.out, 204);
    }
}

// False when the peer is gone.
bool Sink::flush(Peer& peer) {
    while (!peer.out.empty()) {
        ssize_t sent = 0;
        bool is_full = false;
        if (peer.tls != nullptr) {
            ERR_clear_error();
            sent = SSL_write(peer.tls, peer.out.data(), static_cast<int>(peer.out.size()));
            is_full = sent <= 0 &&
                      SSL_get_error(peer.tls, static_cast<int>(sent)) == SSL_ERROR_WANT_WRITE;
        } else {
            sent = ::send(peer.fd, peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
            is_full = sent < 0 && errno == EAGAIN;
        }
        if (is_full) {
            break;
        }
        if (sent <= 0) {
            drop(peer);
            return false;
        }
        peer.out.erase(0, static_cast<std::size_t>(sent));
    }
    if (peer.watches_write != !peer.out.empty()) {
        peer.watches_write = !peer.out.empty();
        epoll_event event{};
        event.events = peer.watches_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
        event.data.fd = peer.fd;
        epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, peer.fd, &event);
    }
    if (peer.is_closing && peer.out.empty()) {
        drop(peer);
        return false;
    }
    return true;
}

void Sink::drop(Peer& peer) {
    peers_.erase(peer.fd);
}

void Sink::answer_late() {
    const std::int64_t now = now_ms();
    while (!late_.empty() && late_.begin()->first <= now) {
        const auto [fd, serial] = late_.begin()->second;
        late_.erase(late_.begin());
        const auto found = peers_.find(fd);
        if (found != peers_.end() && found->second->serial == serial) {
            found->second->is_waiting = false;
            append_answer(found->second->out, 204);
            serve(*found->second);
        }
    }
}

std::string Sink::figures_json() const {
    const auto item = [](const char* name, std::uint64_t value) {
        return "\"" + std::string(name) + "\":" + std::to_string(value);
    };
    return "{" + item("requests", figures_.requests) + "," + item("distinct", distinct_.size()) +
           "," + item("fast", figures_.fast) + "," + item("slow", figures_.slow) + "," +
           item("failed", figures_.failed) + "," + item("hung", figures_.hung) + "," +
           item("signed", figures_.signed_requests) + "," + item("bodyBytes", figures_.body_bytes) +
           "," + item("connections", figures_.connections) + "," +
           item("resumedTls", figures_.resumed_tls) + "," +
           item("firstMs", static_cast<std::uint64_t>(figures_.first_ms)) + "," +
           item("lastFastMs", static_cast<std::uint64_t>(figures_.last_fast_ms)) + "," +
           item("open", peers_.size()) + "}\n";
}

}  // namespace compute::bench
