// The HTTP server: a connection scheduler that reads, judges and answers HTTP/1.1 itself.
//
// One event thread owns every connection that is not being served: it accepts, reads and checks
// heads and bodies (bounded in bytes and time), answers what breaks a rule of the transport, and
// drops who is too slow. A request that is whole goes to a worker, which runs the handler and sends
// the answer at once, in one piece; what the socket does not take goes back to the event thread. So
// an idle or slow client costs a file descriptor, never a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "daemon/http/handler.h"
#include "daemon/http/tls.h"

namespace compute::daemon::http {

struct Limits {
    std::size_t connections = 10000;
    std::size_t connections_per_address = 10000;
    std::size_t header_bytes = 16384;
    std::chrono::milliseconds head_timeout{
        10000};  // for a head, for a body, and for a client to take an answer
    std::chrono::milliseconds idle_timeout{75000};
    int waiting = 2000;
    int workers = 64;  // a mutation holds one until its commit, and one commit covers all of them
};

struct ListenerOptions {
    std::string address;  // HOST:PORT, [V6]:PORT; port 0 picks a free one
    bool is_admin = false;
    std::shared_ptr<TlsContext> tls;  // shared with whoever reloads it; null: plain
};

struct ServerOptions {
    std::vector<ListenerOptions> listeners;
    Limits limits;
    bool is_behind_proxy = false;
};

struct ServerStats {
    std::size_t connections = 0;
    std::size_t workers = 0;
    std::size_t idle_workers = 0;
    std::size_t waiting = 0;
    std::size_t queued = 0;
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;    // connections over a limit
    std::uint64_t timed_out = 0;  // connections dropped for slowness, not for idleness
    std::uint64_t rejected = 0;   // requests answered by the transport itself
};

class HttpServer {
public:
    // Binds and listens (INVALID_CONFIG naming the address otherwise), then starts the threads.
    // What is passed in outlives the server.
    HttpServer(ServerOptions options, Handler& handler, Clock& clock, Rng& rng, Log& log);
    ~HttpServer();  // stop with no time left
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Where listener `index` listens: "127.0.0.1:41234".
    [[nodiscard]] std::string address(std::size_t index = 0) const;

    // Accepts nothing more, closes idle connections, ends waits; requests under way go on. Returns
    // at once.
    void begin_stop();
    // Waits until what is under way is answered, at most `patience`; then closes what is left and
    // ends the threads. A handler that still runs is waited for.
    void finish_stop(std::chrono::milliseconds patience);

    [[nodiscard]] ServerStats stats() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Raises the limit on open files to the hard limit.
void raise_file_limit() noexcept;

}  // namespace compute::daemon::http
