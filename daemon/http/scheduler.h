// The connection scheduler behind HttpServer; see server.h for what it promises.
//
// Ownership. A connection belongs to the event thread or to one worker, never to both:
// `with_worker` says to whom, and changes hands only under the connection's mutex, together with
// the epoll registration that goes with it. The event thread alone adds to and removes from the
// table of connections, so a pointer it finds there, or that epoll gives it, stays valid until it
// lets go itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/guarded.h"
#include "daemon/http/body.h"
#include "daemon/http/checks.h"
#include "daemon/http/head.h"
#include "daemon/http/server.h"
#include "daemon/http/socket.h"
#include "daemon/http/worker_pool.h"

namespace compute::daemon::http {

enum class Phase {
    Handshake,
    Head,
    Body,
    Serving,    // a worker runs the handler
    Writing,    // the answer is on its way
    Lingering,  // answered and said so; what the peer still sends is thrown away for a while
    Dead,
};

struct Connection {
    std::mutex mutex;
    bool with_worker = false;
    Phase phase = Phase::Head;
    std::int64_t deadline_ms = 0;  // steady time; of the phase

    Socket socket;
    Peer peer;
    std::size_t listener = 0;

    std::string in;  // bytes read and not yet used
    std::string out;
    std::size_t out_at = 0;
    std::unique_ptr<HeadReader> reader;
    BodyReader body;
    Request request;
    std::optional<Answer> refusal;  // decided at the head, answered once the body is out of the way
    UpgradeHandler* upgrade = nullptr;
    std::string upgrade_protocol;
    bool is_head = false;
    bool must_close = false;  // after the answer
    bool has_begun =
        false;  // a byte of the request is here: deadline_ms is the head's, not the idle one
    std::size_t lingered_bytes = 0;
    std::uint64_t last_use = 0;  // orders idle connections
};

class Scheduler {
public:
    Scheduler(ServerOptions options, Handler& handler, Clock& clock, Rng& rng, Log& log);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    [[nodiscard]] std::string address(std::size_t index) const {
        return listeners_.at(index).address;
    }
    void begin_stop();
    void finish_stop(std::chrono::milliseconds patience);
    [[nodiscard]] ServerStats stats() const;

private:
    struct Listener {
        int fd = -1;
        std::string address;
        ListenerOptions options;
    };

    // event_loop.cc: the event thread.
    void loop();
    void on_wake();
    void accept_all(std::size_t listener);
    void add_connection(int fd, std::string address, std::size_t listener);
    bool make_room(const std::string& address);
    void on_ready(Connection& connection);
    void check_deadlines();
    void remove(Connection& connection);
    void close_listeners();
    void close_idle();

    // reading.cc: from bytes to a request. The connection is the caller's.
    enum class Progress {
        NeedMore,
        Passed
    };  // Passed: the connection has gone on to somebody else
    void advance(Connection& connection);
    Progress process_input(Connection& connection);
    Progress on_head(Connection& connection);
    Progress on_body(Connection& connection);
    Progress start_body(Connection& connection, const Head& head);
    Progress fail(Connection& connection, int status, const std::string& message);
    Progress answer_inline(Connection& connection, const Answer& answer);
    Progress dispatch(Connection& connection);
    void linger(Connection& connection);

    // serving.cc: on a worker, or what both sides share.
    void run_task(Connection& connection);
    void serve(Connection& connection);
    void offer_upgrade(Connection& connection);
    Answer guarded_handle(const Request& request);
    void flush(Connection& connection);
    void on_answered(Connection& connection);
    void watch(Connection& connection, Phase phase, std::uint32_t events, std::int64_t deadline_ms);
    [[nodiscard]] std::int64_t deadline_in(std::chrono::milliseconds time) const;
    void hand_back(Connection& connection, Phase phase);
    void wake();

    ServerOptions options_;
    Handler& handler_;
    Clock& clock_;
    Rng& rng_;
    Log& log_;

    std::vector<Listener> listeners_;
    int epoll_ = -1;
    int wake_fd_ = -1;

    // The event thread's own.
    std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
    std::map<std::string, std::size_t> by_address_;
    std::vector<WorkerPool::Task> ready_;                 // to be pushed at the end of the round
    std::vector<std::unique_ptr<Connection>> graveyard_;  // freed at the end of the round
    std::int64_t next_check_ms_ = 0;
    bool is_accepting_ = true;
    std::int64_t accept_again_ms_ = 0;

    Guarded<std::vector<Connection*>> handed_back_;
    std::atomic<bool> is_stopping_{false};
    std::atomic<std::int64_t> stop_by_ms_{0};  // 0: not known yet

    std::atomic<std::uint64_t> uses_{0};
    std::atomic<std::size_t> connection_count_{0};
    std::atomic<std::uint64_t> accepted_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> timed_out_{0};
    std::atomic<std::uint64_t> rejected_{0};

    std::unique_ptr<WorkerPool> workers_;
    std::jthread thread_;
};

}  // namespace compute::daemon::http
