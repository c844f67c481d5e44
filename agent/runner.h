// Sockets and time for sessions: one thread, one epoll set, one node or a thousand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/session.h"
#include "core/log.h"
#include "core/rng.h"
#include "net/raw_stream.h"

namespace compute::agent {

// Where the server is, taken apart once.
struct Server {
    std::string url;     // for the connection
    std::string host;    // of the Host field
    std::string target;  // of the Upgrade
    net::RawStreamOptions options;
};
// `base` is the API's address with its path. INVALID_CONFIG for one that is no http(s) address, and
// for a plain one of another machine: credentials go over it.
[[nodiscard]] Server make_server(const std::string& base, const std::string& ca_file);

class Runner {
public:
    Runner(Server server, Rng& rng, Log& log);
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    // Before run(), or from one of its functions.
    std::size_t add(Identity identity, agent_protocol::Inventory inventory);
    [[nodiscard]] Session& session(std::size_t index);
    // Cuts the connection and stays away, or comes back at once.
    void stay_away(std::size_t index);
    void come_back(std::size_t index);
    // Calls `on_input` when `fd` is readable.
    void watch_input(int fd, std::function<void()> on_input);
    void forget_input();

    struct Hooks {
        std::function<void(std::size_t)> on_live;        // each time a node is welcomed
        std::function<void(std::size_t)> on_credential;  // it has a new one
        // It was refused; true: give up (run() returns).
        std::function<bool(std::size_t, const agent_protocol::Refused&)> on_refused;
        std::function<void(std::size_t)> on_fenced;
        std::function<bool()> on_round;  // at least every 100 ms; false: run() returns
    };
    void run(const Hooks& hooks);

private:
    struct Node;
    void connect_due(const Hooks& hooks);
    void connect(Node& node, const Hooks& hooks);
    void receive(Node& node, const Hooks& hooks);
    void send(Node& node, const Hooks& hooks);
    void disconnect(Node& node, const Hooks& hooks);
    void tick(const Hooks& hooks);
    void after_input(Node& node, const Hooks& hooks, bool was_live);

    Server server_;
    Rng& rng_;
    Log& log_;
    int epoll_ = -1;
    int input_fd_ = -1;
    std::function<void()> on_input_;
    bool is_over_ = false;
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace compute::agent
