// The daemon's side of the agent protocol over real sockets, on a clock that the test moves.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent_protocol/frame.h"
#include "agent_protocol/messages.h"
#include "daemon/agents/endpoint.h"
#include "daemon/http/server.h"

#include "tests/support/raw_http.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_plane.h"

namespace compute::daemon::agents {

using support::Wire;

// One connection that behaves as the test says.
class Peer {
public:
    Peer(const std::string& address, Wire wire = Wire::Plain);

    // The status of the answer to the Upgrade; 101 when it left HTTP.
    int upgrade(std::string_view protocol = agent_protocol::kUpgradeProtocol);
    bool send(std::string_view bytes) { return http_.send(bytes); }
    // The next message; nullopt when the connection ended first.
    std::optional<agent_protocol::FromDaemon> read();
    template <class Message>
    Message expect() {
        auto message = read();
        if (!message || !std::holds_alternative<Message>(*message)) {
            ADD_FAILURE() << "another message came, or none";
            return {};
        }
        return std::get<Message>(*message);
    }
    [[nodiscard]] bool is_closed_within(std::chrono::milliseconds patience) {
        return http_.is_closed_within(patience);
    }
    void close() { http_.close(); }

private:
    support::RawHttp http_;
    agent_protocol::FrameReader reader_;
};

class Lab : public ::testing::TestWithParam<store::Engine>, private http::Handler {
protected:
    Lab();
    ~Lab() override;
    // Ends endpoint and server, as a daemon's end does, and starts them anew.
    void stop();
    void start(const std::string& process, LoopLimits limits = {}, Wire wire = Wire::Plain);

    [[nodiscard]] std::string token(int uses = 100);
    [[nodiscard]] agent_protocol::Hello hello(const std::string& name, const std::string& token)
        const;
    [[nodiscard]] std::unique_ptr<Peer> connect(Wire wire = Wire::Plain);
    // Upgraded, with the hello sent and welcomed.
    struct Joined {
        std::unique_ptr<Peer> peer;
        agent_protocol::Welcome welcome;
    };
    [[nodiscard]] Joined join(const agent_protocol::Hello& hello);
    // The hello of a node that joined.
    [[nodiscard]] static agent_protocol::Hello again(
        agent_protocol::Hello hello, const agent_protocol::Welcome& welcome
    );
    [[nodiscard]] agent_protocol::Heartbeat heartbeat(
        const agent_protocol::Hello& hello, std::int64_t epoch, std::int64_t seq
    ) const;
    [[nodiscard]] Json node(const std::string& id);
    [[nodiscard]] std::string connection_of(const std::string& id) {
        return node(id).at("connection").get<std::string>();
    }
    [[nodiscard]] bool becomes(const std::string& id, const std::string& connection);
    // Moves the clock, by at least 250 ms, and waits until the loop has looked at its timers
    // and has its lease again.
    void advance(std::chrono::milliseconds by);

    // Real time: the clock of the test runs ahead of it, and leases end by that clock.
    static constexpr std::chrono::milliseconds kBeat{20};

    support::TestPlane plane;
    Json pool;
    std::unique_ptr<AgentEndpoint> endpoint;
    std::unique_ptr<http::HttpServer> server;

private:
    [[nodiscard]] std::optional<http::RouteKind> find_route(std::string_view, bool) const override {
        return std::nullopt;
    }
    [[nodiscard]] http::UpgradeHandler* find_upgrade(std::string_view) const override {
        return endpoint.get();
    }
    [[nodiscard]] http::Answer handle(const http::Request&) override { return {}; }

    SystemClock clock_;
    support::TempFolder folder_;
};

}  // namespace compute::daemon::agents
