// A receiver of HTTP requests that does exactly what its script says, byte by byte, on a port of
// its own: the hostile one of fault tests and the obedient one of all others. A script is a
// function that runs on a thread of its own for each connection.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/test_certificates.h"

namespace compute::support {

struct RecordedRequest {
    int connection = 0;  // 1, 2, ... in the order they came
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
    std::string body;

    [[nodiscard]] std::string header(std::string_view lower_case_name) const;  // empty when absent
};

class RawReceiver;

// One connection, inside a script. Every function returns false once the peer is gone or the
// receiver stops.
class RawConnection {
public:
    RawConnection(RawReceiver& receiver, int fd, int number);
    ~RawConnection();
    RawConnection(const RawConnection&) = delete;
    RawConnection& operator=(const RawConnection&) = delete;

    [[nodiscard]] int number() const noexcept { return number_; }
    // Reads one request, head and body, and records it.
    bool read_request();
    // Reads `count` bytes and records nothing.
    bool read_bytes(std::size_t count);
    bool send(std::string_view bytes);
    // One byte each `every`.
    bool drip(std::string_view bytes, std::chrono::milliseconds every);
    // The same piece again and again, until the peer is gone.
    void flood(std::string_view piece);
    // Does nothing until the peer is gone or the receiver stops.
    void hang();
    bool pause(std::chrono::milliseconds duration);
    void close();
    void reset();  // with RST
    void shutdown_write();
    // From here on TLS. False when the handshake fails.
    bool start_tls(const TlsIdentity& identity, const TlsServerOptions& options = {});
    [[nodiscard]] bool is_tls_resumed() const;

private:
    bool fill();  // reads more into buffer_
    bool wait_readable(std::chrono::milliseconds at_most);

    struct Tls;
    RawReceiver& receiver_;
    int fd_;
    int number_;
    std::string buffer_;
    std::unique_ptr<Tls> tls_;
};

using Script = std::function<void(RawConnection&)>;

// Thread-safe. Listens on a loopback address until it is destroyed.
class RawReceiver {
public:
    // `port` 0: one that the system chooses. Another is for a second receiver at the port of a
    // first, on another address of this machine.
    explicit RawReceiver(Script script, const std::string& address = "127.0.0.1", int port = 0);
    ~RawReceiver();
    RawReceiver(const RawReceiver&) = delete;
    RawReceiver& operator=(const RawReceiver&) = delete;

    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] std::string url(std::string_view path = "/hook") const;  // http, with the address
    [[nodiscard]] std::vector<RecordedRequest> requests() const;
    [[nodiscard]] int connections() const noexcept { return connections_; }  // accepted so far
    // True when `count` requests have come before `at_most` has passed.
    bool wait_for_requests(
        std::size_t count, std::chrono::milliseconds at_most = std::chrono::seconds(20)
    ) const;
    // From now on connections run another script.
    void set_script(Script script);

private:
    friend class RawConnection;
    struct Worker {
        std::thread thread;
        std::unique_ptr<std::atomic<bool>> is_done;
    };
    void join_finished();
    void accept_loop();
    void record(RecordedRequest request);

    const std::string address_;
    int listener_ = -1;
    int port_ = 0;
    int stop_fd_ = -1;
    std::atomic<bool> is_stopping_ = false;
    std::atomic<int> connections_ = 0;
    mutable std::mutex mutex_;
    mutable std::condition_variable signal_;
    Script script_;
    std::vector<RecordedRequest> requests_;
    std::vector<Worker> workers_;  // of the acceptor alone, then of the destructor
    std::thread acceptor_;
};

// Answers every request of a kept connection with `status` and no body.
[[nodiscard]] Script answering(int status);
// Answers with these bytes, as they are, and keeps the connection.
[[nodiscard]] Script answering_raw(std::string answer);

}  // namespace compute::support
