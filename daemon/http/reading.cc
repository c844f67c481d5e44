#include <array>
#include <utility>

#include <sys/epoll.h>

#include "core/ids.h"
#include "daemon/http/answer_writer.h"
#include "daemon/http/scheduler.h"

namespace compute::daemon::http {
namespace {

constexpr std::size_t kReadBytes = 16384;
constexpr std::size_t kBytesPerRound = 131072;  // of one connection, before others get their turn
constexpr std::size_t kMaxLingerBytes = 1024 * 1024;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The table of codes has none for the statuses that belong to HTTP alone.
ErrorCode code_of_status(int status) {
    return status == 501   ? ErrorCode::Unsupported
           : status == 413 ? ErrorCode::PayloadTooLarge
                           : ErrorCode::InvalidInput;
}

}  // namespace

// Uses what has been read, then reads on until the request is whole or nothing more is there.
void Scheduler::advance(Connection& connection) {
    if (!connection.in.empty() && process_input(connection) == Progress::Passed) {
        return;
    }
    std::array<char, kReadBytes> bytes;  // NOLINT: filled by receive
    for (std::size_t total = 0; total < kBytesPerRound;) {
        std::size_t received = 0;
        const Io io = connection.socket.receive(bytes.data(), bytes.size(), received);
        if (io == Io::Closed || io == Io::Failed) {
            remove(connection);
            return;
        }
        if (io != Io::Done) {
            watch(
                connection,
                connection.phase,
                io == Io::WantWrite ? EPOLLOUT : EPOLLIN,
                connection.deadline_ms
            );
            return;
        }
        total += received;
        connection.in.append(bytes.data(), received);
        if (process_input(connection) == Progress::Passed) {
            return;
        }
        // A short read of a plain socket has emptied it: epoll says when there is more.
        if (received < bytes.size() && !connection.socket.is_tls()) {
            break;
        }
    }
    if (connection.socket.has_buffered()) {
        hand_back(connection, connection.phase);
    } else {
        watch(connection, connection.phase, EPOLLIN, connection.deadline_ms);
    }
}

Scheduler::Progress Scheduler::process_input(Connection& connection) {
    if (connection.phase == Phase::Body) {
        return on_body(connection);
    }
    const HeadReader::State state = connection.reader->read(connection.in);
    if (!connection.has_begun && connection.reader->has_started()) {
        connection.has_begun = true;
        connection.deadline_ms = deadline_in(options_.limits.head_timeout);
    }
    switch (state) {
        case HeadReader::State::NeedMore:
            return Progress::NeedMore;
        case HeadReader::State::Fault: {
            const HeadFault fault = connection.reader->fault();
            connection.request = Request{};
            connection.request.request_id =
                find_request_id(connection.reader->head()).value_or(new_id("req_", clock_, rng_));
            connection.is_head = connection.reader->head().method == "HEAD";
            return fail(connection, fault.status, fault.message);
        }
        case HeadReader::State::Done:
            connection.in.erase(0, connection.reader->size());
            return on_head(connection);
    }
    return Progress::NeedMore;
}

Scheduler::Progress Scheduler::on_head(Connection& connection) {
    const Head& head = connection.reader->head();
    Request& request = connection.request;
    request = Request{};
    if (auto given = find_request_id(head)) {
        request.request_id = std::move(*given);
    } else {
        request.request_id = new_id("req_", clock_, rng_);
    }
    request.source_ip = source_address(head, connection.peer, options_.is_behind_proxy);
    request.is_loopback = is_loopback_address(request.source_ip);
    connection.is_head = head.method == "HEAD";
    connection.must_close =
        head.minor_version == 0 || head.has_token("connection", "close") || is_stopping_;
    connection.refusal.reset();
    connection.upgrade = connection.peer.is_admin ? nullptr : find_upgrade(head, handler_);
    if (connection.upgrade != nullptr) {
        request.target = head.target;
        request.credential = find_credential(head);
        connection.upgrade_protocol = *head.find_only("upgrade");
        return dispatch(connection);
    }
    Verdict verdict = check_request(head, connection.peer, handler_, request);
    if (verdict.refusal) {
        const bool is_body_coming = head.is_chunked || head.content_length.value_or(0) > 0;
        const bool is_unreadable = verdict.must_close ||
                                   head.content_length.value_or(0) > kMaxBodyBytes ||
                                   (is_body_coming && head.has_token("expect", "100-continue"));
        if (is_unreadable) {
            connection.must_close = true;
            return answer_inline(connection, *verdict.refusal);
        }
        // The body is read and dropped first, so that the connection can go on.
        connection.refusal = std::move(verdict.refusal);
    }
    return start_body(connection, head);
}

Scheduler::Progress Scheduler::start_body(Connection& connection, const Head& head) {
    if (head.is_chunked) {
        connection.body.start_chunked();
    } else {
        connection.body.start_plain(head.content_length.value_or(0));
    }
    connection.phase = Phase::Body;
    connection.deadline_ms = deadline_in(options_.limits.head_timeout);
    const bool expects = head.has_token("expect", "100-continue") && head.minor_version == 1;
    const Progress progress = on_body(connection);
    if (progress == Progress::NeedMore && expects && connection.in.empty()) {
        std::size_t sent = 0;
        // 25 bytes into an empty socket buffer; a client that leaves no room for them waits in vain
        // and runs into its deadline.
        connection.socket.send(kContinue, sent);
    }
    return progress;
}

Scheduler::Progress Scheduler::on_body(Connection& connection) {
    std::size_t taken = 0;
    const BodyReader::State state = connection.body.read(connection.in, taken);
    connection.in.erase(0, taken);
    switch (state) {
        case BodyReader::State::NeedMore:
            return Progress::NeedMore;
        case BodyReader::State::TooLarge:
            return fail(connection, 413, "body: larger than 65,536 bytes");
        case BodyReader::State::Fault:
            return fail(connection, 400, connection.body.fault());
        case BodyReader::State::Done:
            break;
    }
    if (connection.refusal) {
        return answer_inline(connection, *connection.refusal);
    }
    connection.request.body = connection.body.take_body();
    return dispatch(connection);
}

// A request whose end nobody knows: answered, and the connection closed behind it.
Scheduler::Progress Scheduler::fail(
    Connection& connection, int status, const std::string& message
) {
    connection.must_close = true;
    Answer answer = error_answer(ComputeError(code_of_status(status), message));
    answer.status = status;
    return answer_inline(connection, answer);
}

Scheduler::Progress Scheduler::answer_inline(Connection& connection, const Answer& answer) {
    ++rejected_;
    log_.debug(
        "http.refused",
        {{"request_id", connection.request.request_id},
         {"status", std::to_string(answer.status)},
         {"source_ip", connection.peer.address}}
    );
    connection.out = answer_bytes(
        {.is_head = connection.is_head,
         .must_close = connection.must_close,
         .request_id = connection.request.request_id},
        answer
    );
    connection.out_at = 0;
    flush(connection);
    return Progress::Passed;
}

Scheduler::Progress Scheduler::dispatch(Connection& connection) {
    {
        const std::lock_guard lock(connection.mutex);
        connection.with_worker = true;
        if (connection.phase != Phase::Handshake) {
            connection.phase = Phase::Serving;
        }
    }
    ready_.push_back(&connection);
    return Progress::Passed;
}

// Closing a socket with unread bytes resets it, and the reset can overtake the answer: so they are
// read for a while.
void Scheduler::linger(Connection& connection) {
    std::array<char, kReadBytes> bytes;  // NOLINT: filled by receive
    while (connection.lingered_bytes < kMaxLingerBytes) {
        std::size_t received = 0;
        const Io io = connection.socket.receive(bytes.data(), bytes.size(), received);
        if (io == Io::WantRead || io == Io::WantWrite) {
            watch(connection, Phase::Lingering, EPOLLIN, connection.deadline_ms);
            return;
        }
        if (io != Io::Done) {
            break;
        }
        connection.lingered_bytes += received;
    }
    remove(connection);
}

}  // namespace compute::daemon::http
