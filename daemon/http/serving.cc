#include <algorithm>
#include <utility>

#include <sys/epoll.h>

#include "daemon/http/answer_writer.h"
#include "daemon/http/scheduler.h"
#include "daemon/http/stream.h"

namespace compute::daemon::http {
namespace {

constexpr std::chrono::milliseconds kLingerTime{1000};

// The waiting of one request: lends the worker's place, gives it back at the latest when the
// request ends.
class WaitGuard {
public:
    explicit WaitGuard(WorkerPool& pool) : pool_(pool) {}
    ~WaitGuard() { end(); }
    WaitGuard(const WaitGuard&) = delete;
    WaitGuard& operator=(const WaitGuard&) = delete;

    void set(bool is_waiting) {
        if (!is_waiting) {
            end();
        } else if (!is_lent_) {
            is_lent_ = pool_.begin_wait();
            is_over_limit_ = !is_lent_;
        }
    }
    [[nodiscard]] bool is_over_limit() const noexcept { return is_over_limit_; }

private:
    void end() {
        if (std::exchange(is_lent_, false)) {
            pool_.end_wait();
        }
    }

    WorkerPool& pool_;
    bool is_lent_ = false;
    bool is_over_limit_ = false;
};

}  // namespace

std::int64_t Scheduler::deadline_in(std::chrono::milliseconds time) const {
    return clock_.steady_ms() + time.count();
}

void Scheduler::run_task(Connection& connection) {
    if (connection.phase != Phase::Handshake) {
        serve(connection);
        return;
    }
    // A handshake costs up to a millisecond of arithmetic: too much for the event thread.
    switch (connection.socket.handshake()) {
        case Io::Done:
            if (connection.socket.has_buffered()) {
                connection.deadline_ms = deadline_in(options_.limits.idle_timeout);
                hand_back(connection, Phase::Head);
            } else {
                watch(connection, Phase::Head, EPOLLIN, deadline_in(options_.limits.idle_timeout));
            }
            break;
        case Io::WantRead:
            watch(connection, Phase::Handshake, EPOLLIN, connection.deadline_ms);
            break;
        case Io::WantWrite:
            watch(connection, Phase::Handshake, EPOLLOUT, connection.deadline_ms);
            break;
        case Io::Closed:
        case Io::Failed:
            hand_back(connection, Phase::Dead);
            break;
    }
}

void Scheduler::serve(Connection& connection) {
    if (connection.upgrade != nullptr) {
        offer_upgrade(connection);
        return;
    }
    {
        WaitGuard wait(*workers_);
        Request& request = connection.request;
        request.abort = [this, &connection, &wait] {
            return is_stopping_ || wait.is_over_limit() || connection.socket.is_peer_gone();
        };
        request.on_wait = [&wait](bool is_waiting) { wait.set(is_waiting); };
        const Answer answer = guarded_handle(request);
        // After the handler: a stop that began meanwhile is announced too.
        connection.must_close = connection.must_close || is_stopping_;
        connection.out = answer_bytes(
            {.is_head = connection.is_head,
             .must_close = connection.must_close,
             .request_id = request.request_id},
            answer
        );
        request.abort = nullptr;
        request.on_wait = nullptr;
    }
    connection.out_at = 0;
    flush(connection);
}

Answer Scheduler::guarded_handle(const Request& request) {
    try {
        return handler_.handle(request);
    } catch (const std::exception& error) {
        log_.error(
            "http.handler_failed", {{"request_id", request.request_id}, {"error", error.what()}}
        );
    } catch (...) {
        log_.error(
            "http.handler_failed",
            {{"request_id", request.request_id}, {"error", "not an exception"}}
        );
    }
    return error_answer(internal_error(""));
}

void Scheduler::offer_upgrade(Connection& connection) {
    // Out of epoll first: from here on the descriptor may be the taker's.
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.socket.fd(), nullptr);
    Request& request = connection.request;
    auto stream = std::make_unique<UpgradedStream>(
        std::move(connection.socket), std::exchange(connection.in, {})
    );
    std::optional<Answer> answer;
    try {
        answer = connection.upgrade->take(
            {request.target,
             connection.upgrade_protocol,
             request.request_id,
             request.source_ip,
             request.credential},
            stream
        );
    } catch (const std::exception& error) {
        log_.error(
            "http.upgrade_failed", {{"request_id", request.request_id}, {"error", error.what()}}
        );
        answer = error_answer(internal_error(""));
    }
    if (!answer || stream == nullptr) {
        hand_back(connection, Phase::Dead);
        return;
    }
    connection.socket = stream->release();
    epoll_event event{};
    event.events = EPOLLONESHOT;  // nothing until watch() asks
    event.data.ptr = &connection;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket.fd(), &event);
    connection.must_close = true;
    connection.out = answer_bytes({.must_close = true, .request_id = request.request_id}, *answer);
    connection.out_at = 0;
    flush(connection);
}

// Sends what it can; what the socket does not take now is watched by the event thread.
void Scheduler::flush(Connection& connection) {
    while (connection.out_at < connection.out.size()) {
        std::size_t sent = 0;
        const Io io = connection.socket.send(
            std::string_view(connection.out).substr(connection.out_at), sent
        );
        connection.out_at += sent;
        if (io == Io::Done) {
            continue;
        }
        if (io == Io::Closed || io == Io::Failed) {
            hand_back(connection, Phase::Dead);
            return;
        }
        const std::int64_t deadline = connection.phase == Phase::Writing
                                          ? connection.deadline_ms
                                          : deadline_in(options_.limits.head_timeout);
        watch(connection, Phase::Writing, io == Io::WantRead ? EPOLLIN : EPOLLOUT, deadline);
        return;
    }
    on_answered(connection);
}

void Scheduler::on_answered(Connection& connection) {
    connection.out.clear();
    connection.out_at = 0;
    connection.has_begun = false;
    if (connection.must_close) {
        connection.socket.finish_sending();
        connection.in.clear();
        watch(connection, Phase::Lingering, EPOLLIN, deadline_in(kLingerTime));
        return;
    }
    connection.reader->reset();
    connection.request = Request{};
    connection.last_use = ++uses_;
    const std::int64_t deadline = deadline_in(options_.limits.idle_timeout);
    if (connection.in.empty() && !connection.socket.has_buffered()) {
        watch(connection, Phase::Head, EPOLLIN, deadline);
    } else {
        // The next request is here already; the event thread takes it up in its turn, so nobody can
        // pipeline others aside.
        connection.deadline_ms = deadline;
        hand_back(connection, Phase::Head);
    }
}

void Scheduler::watch(
    Connection& connection, Phase phase, std::uint32_t events, std::int64_t deadline_ms
) {
    epoll_event event{};
    event.events = events | EPOLLONESHOT;
    event.data.ptr = &connection;
    const std::lock_guard lock(connection.mutex);
    connection.phase = phase;
    connection.deadline_ms = deadline_ms;
    connection.with_worker = false;
    // Under the mutex: otherwise the event thread could close the descriptor in between, and the
    // number be another connection's.
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket.fd(), &event);
}

// Gives the connection to the event thread, which takes it up from the list; until then nobody
// touches it.
void Scheduler::hand_back(Connection& connection, Phase phase) {
    {
        const std::lock_guard lock(connection.mutex);
        connection.phase = phase;
        connection.with_worker = true;
    }
    handed_back_.with([&](std::vector<Connection*>& list) { list.push_back(&connection); });
    wake();
}

}  // namespace compute::daemon::http
