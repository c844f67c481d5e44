// The receiver behind bench_sink; see main.cc for what it answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

struct ssl_ctx_st;

namespace compute::bench {

struct SinkOptions {
    int port = 0;
    int tls_port = -1;  // -1: no TLS
    std::string cert;
    std::string key;
};

struct Figures {
    std::uint64_t requests = 0;
    std::uint64_t fast = 0;
    std::uint64_t slow = 0;
    std::uint64_t failed = 0;
    std::uint64_t hung = 0;
    std::uint64_t signed_requests = 0;
    std::uint64_t body_bytes = 0;
    std::uint64_t connections = 0;
    std::uint64_t resumed_tls = 0;
    // Steady milliseconds, so that whoever measures need not ask often; 0: none yet.
    std::int64_t first_ms = 0;
    std::int64_t last_fast_ms = 0;
};

struct Request;
struct Peer;

// Not thread-safe; run() never returns.
class Sink {
public:
    explicit Sink(const SinkOptions& options);
    ~Sink();
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] int tls_port() const noexcept { return tls_port_; }
    [[noreturn]] void run();

private:
    int listen_on(int port, int& bound);
    void accept_from(int listener, bool is_tls);
    void on_event(Peer& peer, unsigned events);
    bool shake_hands(Peer& peer);
    bool read_some(Peer& peer);
    void serve(Peer& peer);
    void answer(Peer& peer, const Request& request);
    bool flush(Peer& peer);
    void drop(Peer& peer);
    void answer_late();
    [[nodiscard]] std::string figures_json() const;

    int epoll_fd_;
    int port_ = 0;
    int tls_port_ = 0;
    int listener_ = -1;
    int tls_listener_ = -1;
    ssl_ctx_st* tls_ = nullptr;
    Figures figures_;
    std::unordered_set<std::string> distinct_;
    std::unordered_map<int, std::unique_ptr<Peer>> peers_;
    std::multimap<std::int64_t, std::pair<int, std::uint64_t>>
        late_;  // due (ms) -> descriptor and serial of its peer
    std::uint64_t last_serial_ = 0;
};

}  // namespace compute::bench
