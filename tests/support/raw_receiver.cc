#include "tests/support/raw_receiver.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace compute::support {
namespace {

constexpr std::chrono::milliseconds kEver{600'000};

void require(bool is_ok, const char* what) {
    if (!is_ok) {
        throw std::runtime_error(
            std::string("raw receiver: ") + what + ": " + std::strerror(errno)
        );
    }
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return text;
}

RecordedRequest parse_head(const std::string& head, int connection) {
    RecordedRequest out;
    out.connection = connection;
    const std::size_t space = head.find(' ');
    out.method = head.substr(0, space);
    out.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    std::size_t at = head.find("\r\n") + 2;
    while (at < head.size()) {
        const std::size_t end = head.find("\r\n", at);
        const std::size_t colon = head.find(": ", at);
        if (colon < end) {
            out.headers.emplace_back(
                lower(head.substr(at, colon - at)), head.substr(colon + 2, end - colon - 2)
            );
        }
        at = end + 2;
    }
    return out;
}

}  // namespace

std::string RecordedRequest::header(std::string_view lower_case_name) const {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& item) {
        return item.first == lower_case_name;
    });
    return found == headers.end() ? std::string{} : found->second;
}

struct RawConnection::Tls {
    SSL_CTX* context = nullptr;
    SSL* session = nullptr;
    Tls() = default;
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;
    ~Tls() {
        SSL_free(session);
        SSL_CTX_free(context);
    }
};

RawConnection::RawConnection(RawReceiver& receiver, int fd, int number)
    : receiver_(receiver), fd_(fd), number_(number) {}

RawConnection::~RawConnection() {
    close();
}

bool RawConnection::wait_readable(std::chrono::milliseconds at_most) {
    if (fd_ < 0) {
        return false;
    }
    if (tls_ != nullptr && SSL_pending(tls_->session) > 0) {
        return true;
    }
    std::array<pollfd, 2> fds = {pollfd{fd_, POLLIN, 0}, pollfd{receiver_.stop_fd_, POLLIN, 0}};
    const int count = ::poll(fds.data(), fds.size(), static_cast<int>(at_most.count()));
    return count > 0 && fds[1].revents == 0;
}

bool RawConnection::fill() {
    if (!wait_readable(kEver)) {
        return false;
    }
    std::array<char, 16384> piece{};
    ssize_t got = 0;
    if (tls_ != nullptr) {
        got = SSL_read(tls_->session, piece.data(), static_cast<int>(piece.size()));
        ERR_clear_error();
    } else {
        got = ::recv(fd_, piece.data(), piece.size(), 0);
    }
    if (got <= 0) {
        return false;
    }
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
}

bool RawConnection::read_request() {
    std::size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!fill()) {
            return false;
        }
    }
    RecordedRequest request = parse_head(buffer_.substr(0, end + 2), number_);
    buffer_.erase(0, end + 4);
    const std::string length = request.header("content-length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    while (buffer_.size() < size) {
        if (!fill()) {
            return false;
        }
    }
    request.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    receiver_.record(std::move(request));
    return true;
}

bool RawConnection::read_bytes(std::size_t count) {
    while (buffer_.size() < count) {
        if (!fill()) {
            return false;
        }
    }
    buffer_.erase(0, count);
    return true;
}

bool RawConnection::send(std::string_view bytes) {
    while (!bytes.empty()) {
        std::array<pollfd, 2> fds = {
            pollfd{fd_, POLLOUT, 0}, pollfd{receiver_.stop_fd_, POLLIN, 0}};
        if (fd_ < 0 || ::poll(fds.data(), fds.size(), static_cast<int>(kEver.count())) <= 0 ||
            fds[1].revents != 0) {
            return false;
        }
        ssize_t sent = 0;
        if (tls_ != nullptr) {
            sent = SSL_write(
                tls_->session,
                bytes.data(),
                static_cast<int>(std::min<std::size_t>(bytes.size(), 16384))
            );
            ERR_clear_error();
        } else {
            sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && errno == EAGAIN) {
                continue;
            }
        }
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool RawConnection::drip(std::string_view bytes, std::chrono::milliseconds every) {
    return std::all_of(bytes.begin(), bytes.end(), [&](char c) {
        return send({&c, 1}) && pause(every);
    });
}

void RawConnection::flood(std::string_view piece) {
    while (send(piece)) {
    }
}

void RawConnection::hang() {
    while (fill()) {
        buffer_.clear();
    }
}

bool RawConnection::pause(std::chrono::milliseconds duration) {
    pollfd stop{receiver_.stop_fd_, POLLIN, 0};
    return ::poll(&stop, 1, static_cast<int>(duration.count())) == 0;
}

void RawConnection::close() {
    if (fd_ >= 0) {
        if (tls_ != nullptr) {
            SSL_shutdown(tls_->session);
            ERR_clear_error();
        }
        ::close(std::exchange(fd_, -1));
    }
}

void RawConnection::reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(std::exchange(fd_, -1));
}

void RawConnection::shutdown_write() {
    ::shutdown(fd_, SHUT_WR);
}

bool RawConnection::start_tls(const TlsIdentity& identity, const TlsServerOptions& options) {
    tls_ = std::make_unique<Tls>();
    tls_->context = SSL_CTX_new(TLS_server_method());
    SSL_CTX* const context = tls_->context;
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, options.max_version);
    if (!options.cipher_list.empty()) {
        SSL_CTX_set_cipher_list(context, options.cipher_list.c_str());
    }
    BIO* const chain =
        BIO_new_mem_buf(identity.chain.data(), static_cast<int>(identity.chain.size()));
    BIO* const key = BIO_new_mem_buf(identity.key.data(), static_cast<int>(identity.key.size()));
    X509* const certificate = PEM_read_bio_X509(chain, nullptr, nullptr, nullptr);
    EVP_PKEY* const private_key = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, private_key);
    X509_free(certificate);
    EVP_PKEY_free(private_key);
    BIO_free(chain);
    BIO_free(key);
    tls_->session = SSL_new(context);
    SSL_set_fd(tls_->session, fd_);
    if (!wait_readable(kEver)) {
        return false;
    }
    const bool is_done = SSL_accept(tls_->session) == 1;
    ERR_clear_error();
    return is_done;
}

bool RawConnection::is_tls_resumed() const {
    return tls_ != nullptr && SSL_session_reused(tls_->session) == 1;
}

RawReceiver::RawReceiver(Script script, const std::string& address, int port)
    : address_(address), script_(std::move(script)) {
    std::signal(
        SIGPIPE, SIG_IGN
    );  // NOLINT(cert-err33-c): of the test program; OpenSSL writes without MSG_NOSIGNAL
    const bool is_v4 = address.find(':') == std::string::npos;
    stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
    listener_ = ::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(stop_fd_ >= 0 && listener_ >= 0, "socket");
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    const int parsed = is_v4 ? ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr)
                             : ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
    require(parsed == 1, "address");
    const auto* generic =
        is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    const socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
    require(::bind(listener_, generic, size) == 0 && ::listen(listener_, 512) == 0, "listen");
    sockaddr_in6 bound{};
    socklen_t bound_size = sizeof bound;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &bound_size);
    port_ = ntohs(bound.sin6_port);  // at the same place for both families
    acceptor_ = std::thread([this] { accept_loop(); });
}

RawReceiver::~RawReceiver() {
    is_stopping_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(stop_fd_, &one, sizeof one);
    acceptor_.join();
    for (Worker& worker : workers_) {
        worker.thread.join();
    }
    ::close(listener_);
    ::close(stop_fd_);
}

void RawReceiver::accept_loop() {
    while (!is_stopping_) {
        std::array<pollfd, 2> fds = {pollfd{listener_, POLLIN, 0}, pollfd{stop_fd_, POLLIN, 0}};
        ::poll(fds.data(), fds.size(), -1);
        if (fds[1].revents != 0) {
            return;
        }
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) {
            continue;
        }
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        // TLS reads and writes block; they end when the peer or this does.
        const timeval bound{20, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
        const int number = ++connections_;
        Script script;
        {
            const std::lock_guard lock(mutex_);
            script = script_;
        }
        join_finished();
        auto is_done = std::make_unique<std::atomic<bool>>(false);
        std::thread thread([this, fd, number, script = std::move(script), done = is_done.get()] {
            {
                RawConnection connection(*this, fd, number);
                script(connection);
            }
            *done = true;
        });
        workers_.push_back({std::move(thread), std::move(is_done)});
    }
}

void RawReceiver::join_finished() {
    for (auto worker = workers_.begin(); worker != workers_.end();) {
        if (*worker->is_done) {
            worker->thread.join();
            worker = workers_.erase(worker);
        } else {
            ++worker;
        }
    }
}

std::string RawReceiver::url(std::string_view path) const {
    return "http://" + (address_.find(':') == std::string::npos ? address_ : "[" + address_ + "]") +
           ":" + std::to_string(port_) + std::string(path);
}

std::vector<RecordedRequest> RawReceiver::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

bool RawReceiver::wait_for_requests(std::size_t count, std::chrono::milliseconds at_most) const {
    std::unique_lock lock(mutex_);
    return signal_.wait_for(lock, at_most, [&] { return requests_.size() >= count; });
}

void RawReceiver::set_script(Script script) {
    const std::lock_guard lock(mutex_);
    script_ = std::move(script);
}

void RawReceiver::record(RecordedRequest request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
    signal_.notify_all();
}

Script answering(int status) {
    return answering_raw(
        "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Length: 0\r\n\r\n"
    );
}

Script answering_raw(std::string answer) {
    return [answer = std::move(answer)](RawConnection& connection) {
        while (connection.read_request() && connection.send(answer)) {
        }
    };
}

}  // namespace compute::support
