#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/listener.h"
#include "daemon/http/scheduler.h"

namespace compute::daemon::http {
namespace {

constexpr int kEventsPerRound = 512;
constexpr int kAcceptsPerRound = 128;
constexpr std::int64_t kCheckMs = 50;  // how late a deadline may be noticed
constexpr std::int64_t kAcceptPauseMs = 100;
constexpr std::uint64_t kWakeTag = 255;
constexpr std::uint64_t kFirstPointer = 256;  // smaller epoll tags are listeners and the wake-up

void add_to_epoll(int epoll, int fd, std::uint32_t events, std::uint64_t tag) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        throw internal_error("epoll_ctl: " + std::generic_category().message(errno));
    }
}

}  // namespace

Scheduler::Scheduler(ServerOptions options, Handler& handler, Clock& clock, Rng& rng, Log& log)
    : options_(std::move(options)),
      handler_(handler),
      clock_(clock),
      rng_(rng),
      log_(log),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    // OpenSSL writes to sockets whose peer may be gone, and has no way to say MSG_NOSIGNAL.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        add_to_epoll(epoll_, wake_fd_, EPOLLIN, kWakeTag);
        for (const ListenerOptions& one : options_.listeners) {
            Listener& listener =
                listeners_.emplace_back(Listener{open_listener(one.address), {}, one});
            listener.address = bound_address(listener.fd);
            add_to_epoll(epoll_, listener.fd, EPOLLIN, listeners_.size() - 1);
        }
        workers_ = std::make_unique<WorkerPool>(
            WorkerPool::Options{options_.limits.workers, options_.limits.waiting},
            [this](WorkerPool::Task task) { run_task(*static_cast<Connection*>(task)); }
        );
    } catch (...) {
        close_listeners();
        ::close(epoll_);
        ::close(wake_fd_);
        throw;
    }
    thread_ = std::jthread([this] { loop(); });
}

Scheduler::~Scheduler() {
    finish_stop(std::chrono::milliseconds(0));
    ::close(epoll_);
    ::close(wake_fd_);
}

void Scheduler::begin_stop() {
    is_stopping_ = true;
    wake();
}

void Scheduler::finish_stop(std::chrono::milliseconds patience) {
    begin_stop();
    stop_by_ms_ = deadline_in(patience);
    wake();
    if (thread_.joinable()) {
        thread_.join();
    }
    workers_->stop();
    connections_.clear();
}

void Scheduler::wake() {
    const std::uint64_t one = 1;
    // Full means that a wake-up is pending already.
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

ServerStats Scheduler::stats() const {
    const WorkerPool::Counts counts = workers_->counts();
    return {
        .connections = connection_count_,
        .workers = counts.threads,
        .idle_workers = counts.idle,
        .waiting = counts.waiting,
        .queued = counts.queued,
        .accepted = accepted_,
        .refused = refused_,
        .timed_out = timed_out_,
        .rejected = rejected_,
    };
}

void Scheduler::loop() {
    std::array<epoll_event, kEventsPerRound> events{};
    while (true) {
        const bool is_quiet = connections_.empty() && is_accepting_ && !is_stopping_;
        const int count = ::epoll_wait(
            epoll_, events.data(), kEventsPerRound, is_quiet ? -1 : static_cast<int>(kCheckMs)
        );
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            if (event.data.u64 == kWakeTag) {
                on_wake();
            } else if (event.data.u64 < kFirstPointer) {
                accept_all(event.data.u64);
            } else {
                on_ready(*static_cast<Connection*>(event.data.ptr));
            }
        }
        if (!ready_.empty()) {
            workers_->push(ready_);
            ready_.clear();
        }
        if (is_stopping_) {
            close_listeners();
            close_idle();
        }
        if (const std::int64_t now = clock_.steady_ms(); now >= next_check_ms_) {
            check_deadlines();
            next_check_ms_ = now + kCheckMs;
        }
        graveyard_.clear();
        const std::int64_t stop_by = stop_by_ms_;
        if (is_stopping_ &&
            (connections_.empty() || (stop_by != 0 && clock_.steady_ms() >= stop_by))) {
            return;
        }
    }
}

void Scheduler::on_wake() {
    std::uint64_t ignored = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_fd_, &ignored, sizeof ignored);
    const auto back =
        handed_back_.with([](std::vector<Connection*>& list) { return std::exchange(list, {}); });
    for (Connection* connection : back) {
        Phase phase{};
        {
            const std::lock_guard lock(connection->mutex);
            connection->with_worker = false;
            phase = connection->phase;
        }
        if (phase == Phase::Dead) {
            remove(*connection);
        } else {
            advance(*connection);
        }
    }
}

void Scheduler::accept_all(std::size_t listener) {
    for (int i = 0; i < kAcceptsPerRound; ++i) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        void* raw = &address;
        const int fd = ::accept4(
            listeners_[listener].fd,
            static_cast<sockaddr*>(raw),
            &size,
            SOCK_NONBLOCK | SOCK_CLOEXEC
        );
        if (fd >= 0) {
            add_connection(fd, peer_address(raw, size), listener);
            continue;
        }
        if (errno == EAGAIN) {
            return;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            // The connection stays in the backlog; looking again at once would only spin.
            log_.warning(
                "http.accept_paused", {{"reason", std::generic_category().message(errno)}}
            );
            is_accepting_ = false;
            accept_again_ms_ = clock_.steady_ms() + kAcceptPauseMs;
            for (const Listener& one : listeners_) {
                ::epoll_ctl(epoll_, EPOLL_CTL_DEL, one.fd, nullptr);
            }
            return;
        }
    }
}

// At the limit the connection that has been idle longest makes place, so that idle clients cannot
// lock others out.
bool Scheduler::make_room(const std::string& address) {
    const auto count = by_address_.find(address);
    if (count != by_address_.end() && count->second >= options_.limits.connections_per_address) {
        return false;
    }
    if (connections_.size() < options_.limits.connections) {
        return true;
    }
    Connection* oldest = nullptr;
    std::uint64_t oldest_use = 0;
    for (const auto& entry : connections_) {
        const std::lock_guard lock(entry.first->mutex);
        if (!entry.first->with_worker && entry.first->phase == Phase::Head &&
            !entry.first->has_begun && (oldest == nullptr || entry.first->last_use < oldest_use)) {
            oldest = entry.first;
            oldest_use = oldest->last_use;
        }
    }
    if (oldest == nullptr) {
        return false;
    }
    remove(*oldest);
    return true;
}

void Scheduler::add_connection(int fd, std::string address, std::size_t listener) {
    const ListenerOptions& where = listeners_[listener].options;
    ++accepted_;
    if (!make_room(address)) {
        ++refused_;
        ::close(fd);
        return;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_unique<Connection>();
    ssl_st* session = where.tls ? where.tls->new_session() : nullptr;
    connection->socket = Socket(fd, session);
    if (where.tls && session == nullptr) {
        ++refused_;
        return;
    }
    connection->phase = where.tls ? Phase::Handshake : Phase::Head;
    connection->deadline_ms =
        deadline_in(where.tls ? options_.limits.head_timeout : options_.limits.idle_timeout);
    connection->last_use = ++uses_;
    connection->peer = {std::move(address), where.is_admin};
    connection->listener = listener;
    connection->reader =
        std::make_unique<HeadReader>(HeadLimits{options_.limits.header_bytes, kMaxHeaderFields});
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.ptr = connection.get();
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
        ++refused_;
        return;
    }
    ++by_address_[connection->peer.address];
    Connection* key = connection.get();
    connections_.emplace(key, std::move(connection));
    connection_count_ = connections_.size();
}

void Scheduler::on_ready(Connection& connection) {
    Phase phase{};
    {
        const std::lock_guard lock(connection.mutex);
        // One-shot registration makes this impossible for a live connection; one removed in this
        // round is in the graveyard.
        if (connection.with_worker || connection.phase == Phase::Dead) {
            return;
        }
        phase = connection.phase;
    }
    switch (phase) {
        case Phase::Handshake:
            dispatch(connection);
            break;
        case Phase::Head:
        case Phase::Body:
            advance(connection);
            break;
        case Phase::Writing:
            flush(connection);
            break;
        case Phase::Lingering:
            linger(connection);
            break;
        case Phase::Serving:
        case Phase::Dead:
            break;
    }
}

void Scheduler::check_deadlines() {
    const std::int64_t now = clock_.steady_ms();
    if (!is_accepting_ && now >= accept_again_ms_ && !is_stopping_) {
        is_accepting_ = true;
        for (std::size_t i = 0; i < listeners_.size(); ++i) {
            add_to_epoll(epoll_, listeners_[i].fd, EPOLLIN, i);
        }
    }
    std::vector<Connection*> late;
    for (const auto& entry : connections_) {
        Connection& connection = *entry.first;
        const std::lock_guard lock(connection.mutex);
        if (connection.with_worker || connection.deadline_ms > now) {
            continue;
        }
        late.push_back(&connection);
        const bool is_idle = connection.phase == Phase::Head && !connection.has_begun;
        if (!is_idle && connection.phase != Phase::Lingering) {
            ++timed_out_;
        }
    }
    for (Connection* connection : late) {
        remove(*connection);
    }
}

void Scheduler::remove(Connection& connection) {
    const auto found = connections_.find(&connection);
    if (found == connections_.end()) {
        return;
    }
    const auto count = by_address_.find(connection.peer.address);
    if (count != by_address_.end() && --count->second == 0) {
        by_address_.erase(count);
    }
    connection.phase = Phase::Dead;
    // Closing takes the descriptor out of epoll. The object is kept until the end of the round:
    // epoll may have reported it already.
    connection.socket.close();
    graveyard_.push_back(std::move(found->second));
    connections_.erase(found);
    connection_count_ = connections_.size();
}

void Scheduler::close_listeners() {
    for (Listener& listener : listeners_) {
        if (listener.fd >= 0) {
            ::close(std::exchange(listener.fd, -1));
        }
    }
}

void Scheduler::close_idle() {
    std::vector<Connection*> idle;
    for (const auto& entry : connections_) {
        const std::lock_guard lock(entry.first->mutex);
        if (!entry.first->with_worker && entry.first->phase == Phase::Head &&
            !entry.first->has_begun) {
            idle.push_back(entry.first);
        }
    }
    for (Connection* connection : idle) {
        remove(*connection);
    }
}

}  // namespace compute::daemon::http
