#include "tests/fault/agents/lab.h"

#include <fstream>

#include "crypto/crypto.h"
#include "modules/capacity/capacity.h"

#include "tests/support/eventually.h"
#include "tests/support/test_certificates.h"

namespace compute::daemon::agents {

Peer::Peer(const std::string& address, Wire wire) : http_(address, wire) {}

int Peer::upgrade(std::string_view protocol) {
    http_.send(
        "GET /api/compute/agent/connect HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " +
        std::string(protocol) + "\r\n\r\n"
    );
    const auto answer = http_.read_answer(true);
    return answer ? answer->status : 0;
}

std::optional<agent_protocol::FromDaemon> Peer::read() {
    while (true) {
        if (const auto frame = reader_.next()) {
            return agent_protocol::parse_from_daemon(frame->payload);
        }
        const std::string bytes = http_.read_some();
        if (bytes.empty()) {
            return std::nullopt;
        }
        reader_.feed(bytes);
    }
}

Lab::Lab() : plane(GetParam(), {capacity::capacity_module()}) {
    pool = plane.call(
        "pools/create", support::TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"name", "a"}}
    );
    start("p1");
}

Lab::~Lab() {
    stop();
}

void Lab::stop() {
    server.reset();
    endpoint.reset();
}

void Lab::start(const std::string& process, LoopLimits limits, Wire wire) {
    stop();
    endpoint = std::make_unique<AgentEndpoint>(
        plane.runtime(), EndpointOptions{.process = process, .limits = limits, .beat = kBeat}
    );
    http::ServerOptions options;
    std::shared_ptr<http::TlsContext> tls;
    if (wire == Wire::Tls) {
        const support::TestAuthority authority;
        const support::TlsIdentity identity = authority.issue_for({"127.0.0.1"});
        const std::string cert = folder_.path() + "/cert.pem";
        const std::string key = folder_.path() + "/key.pem";
        std::ofstream(cert) << identity.chain;
        std::ofstream(key) << identity.key;
        tls = std::make_shared<http::TlsContext>(cert, key);
    }
    options.listeners.push_back({"127.0.0.1:0", false, tls});
    options.limits.workers = 2;
    http::Handler& handler = *this;  // private to others
    server = std::make_unique<http::HttpServer>(
        std::move(options), handler, clock_, crypto::system_rng(), plane.messages
    );
}

std::string Lab::token(int uses) {
    return plane
        .call(
            "nodes/createToken",
            support::TestPlane::admin_of("acme"),
            {{"tenantId", "acme"}, {"poolId", pool.at("id")}, {"maxUses", uses}}
        )
        .at("token")
        .get<std::string>();
}

agent_protocol::Hello Lab::hello(const std::string& name, const std::string& token) const {
    agent_protocol::Hello hello;
    hello.token = crypto::Secret(token);
    hello.name = name;
    hello.machine_id = "m-" + name;
    hello.boot_id = "b";
    hello.inventory.cpu_milli = 1000;
    hello.inventory.memory_mib = 1000;
    for (int i = 0; i < 2; ++i) {
        agent_protocol::Gpu gpu;
        gpu.uuid = "GPU-" + name + "-" + std::to_string(i);
        gpu.index = i;
        gpu.model = "T4";
        hello.inventory.gpus.push_back(gpu);
    }
    return hello;
}

std::unique_ptr<Peer> Lab::connect(Wire wire) {
    auto peer = std::make_unique<Peer>(server->address(), wire);
    EXPECT_EQ(peer->upgrade(), 101);
    return peer;
}

Lab::Joined Lab::join(const agent_protocol::Hello& hello) {
    Joined joined{connect(), {}};
    joined.peer->send(agent_protocol::encode(hello));
    joined.welcome = joined.peer->expect<agent_protocol::Welcome>();
    return joined;
}

agent_protocol::Hello Lab::again(
    agent_protocol::Hello hello, const agent_protocol::Welcome& welcome
) {
    hello.token.reset();
    hello.name.reset();
    hello.node_id = welcome.node_id;
    hello.credential = welcome.credential;
    return hello;
}

agent_protocol::Heartbeat Lab::heartbeat(
    const agent_protocol::Hello& hello, std::int64_t epoch, std::int64_t seq
) const {
    agent_protocol::Heartbeat heartbeat;
    heartbeat.epoch = epoch;
    heartbeat.seq = seq;
    heartbeat.wall_ms = plane.clock.now_ms();
    heartbeat.inventory_hash = agent_protocol::inventory_hash(hello.inventory.gpus);
    return heartbeat;
}

Json Lab::node(const std::string& id) {
    return plane.call(
        "nodes/get", support::TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"nodeId", id}}
    );
}

bool Lab::becomes(const std::string& id, const std::string& connection) {
    return support::eventually([&] { return connection_of(id) == connection; });
}

void Lab::advance(std::chrono::milliseconds by) {
    const std::uint64_t looks = endpoint->stats().looks;
    plane.clock.advance(by);
    EXPECT_TRUE(support::eventually([&] {
        const LoopStats stats = endpoint->stats();
        return stats.looks > looks && stats.has_lease;
    }));
}

}  // namespace compute::daemon::agents
