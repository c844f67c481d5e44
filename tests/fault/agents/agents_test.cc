// Agents over real sockets: joining, heartbeats, silence, return, restart.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/fault/agents/lab.h"
#include "tests/support/eventually.h"

namespace compute::daemon::agents {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using support::TestPlane;

class Agents : public Lab {
protected:
    std::vector<std::string> events() {
        std::vector<std::string> types;
        for (const auto& row : plane.outbox()) {
            if (row.type.starts_with("node.")) {
                types.push_back(row.type);
            }
        }
        return types;
    }
    // Sends a heartbeat and waits for its answer.
    void beat(Joined& joined, const agent_protocol::Hello& hello, std::int64_t seq) {
        joined.peer->send(agent_protocol::encode(heartbeat(hello, joined.welcome.epoch, seq)));
        EXPECT_EQ(joined.peer->expect<agent_protocol::Ack>().seq, seq);
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, Agents, support::both_engines(), support::engine_name);

TEST_P(Agents, AnAgentJoinsAndIsHeard) {
    const auto hello = Lab::hello("n1", token());

    Joined joined = join(hello);

    EXPECT_EQ(joined.welcome.epoch, 1);
    EXPECT_EQ(joined.welcome.heartbeat_ms, 5000);
    EXPECT_EQ(joined.welcome.fence_ms, 100'000);
    EXPECT_TRUE(joined.welcome.credential);
    EXPECT_EQ(joined.welcome.features, std::vector<std::string>{"gpu-events"});
    beat(joined, hello, 1);
    EXPECT_EQ(connection_of(joined.welcome.node_id), "ready");
    EXPECT_FALSE(plane.messages.mentions(std::string(joined.welcome.credential->reveal())));
    EXPECT_FALSE(plane.messages.mentions(std::string(hello.token->reveal())));
}

TEST_P(Agents, HeartbeatsWriteNothing) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    const auto writes = [&] {
        return plane.database().counters(store::Purpose::Call).write_transactions;
    };
    const auto before = writes();
    const std::int64_t version = node(joined.welcome.node_id).at("version");

    for (int seq = 1; seq <= 50; ++seq) {
        beat(joined, hello, seq);
    }

    EXPECT_EQ(node(joined.welcome.node_id).at("version"), version);
    EXPECT_EQ(writes(), before);
}

TEST_P(Agents, ASilentAgentIsDisconnectedAtItsTimeAndComesBackOnTheSameConnection) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    const std::string id = joined.welcome.node_id;

    advance(milliseconds(19'749));
    advance(milliseconds(250));
    EXPECT_EQ(connection_of(id), "ready");
    advance(milliseconds(251));
    EXPECT_TRUE(becomes(id, "disconnected"));
    advance(seconds(10));
    beat(joined, hello, 1);
    advance(milliseconds(250));

    EXPECT_TRUE(becomes(id, "ready"));
    EXPECT_THAT(
        events(),
        ::testing::ElementsAre(
            "node.registered", "node.ready", "node.disconnected", "node.reconnected"
        )
    );
    EXPECT_EQ(plane.outbox().back().data.at("sinceMs"), 30'250);
    EXPECT_EQ(node(id).at("epoch"), 1);
}

TEST_P(Agents, AnAgentThatStaysSilentIsLostAtItsTimeAndMustSayHelloAgain) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    const std::string id = joined.welcome.node_id;
    advance(seconds(20));
    ASSERT_TRUE(becomes(id, "disconnected"));

    advance(milliseconds(99'749));
    EXPECT_EQ(connection_of(id), "disconnected");
    advance(milliseconds(251));
    EXPECT_TRUE(becomes(id, "lost"));

    EXPECT_TRUE(joined.peer->is_closed_within(seconds(10)));
    Joined back = join(again(hello, joined.welcome));
    EXPECT_EQ(back.welcome.epoch, 2);
    EXPECT_EQ(connection_of(id), "ready");
    EXPECT_EQ(events().back(), "node.ready");
}

TEST_P(Agents, AnAgentThatReconnectsInTimeWasNeverAway) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    joined.peer->close();
    advance(seconds(15));

    Joined back = join(again(hello, joined.welcome));
    advance(seconds(19));

    EXPECT_EQ(connection_of(joined.welcome.node_id), "ready");
    EXPECT_THAT(events(), ::testing::ElementsAre("node.registered", "node.ready"));
}

TEST_P(Agents, OfTwoConnectionsOfOneCredentialTheOlderIsClosed) {
    const auto hello = Lab::hello("n1", token());
    Joined first = join(hello);

    Joined second = join(again(hello, first.welcome));

    EXPECT_TRUE(first.peer->is_closed_within(seconds(10)));
    EXPECT_EQ(second.welcome.epoch, 2);
    EXPECT_FALSE(second.welcome.credential);
    beat(second, hello, 1);
    // What speaks of an old epoch is refused.
    second.peer->send(agent_protocol::encode(heartbeat(hello, 1, 2)));
    EXPECT_EQ(second.peer->expect<agent_protocol::Refused>().code, "CONFLICT");
}

TEST_P(Agents, ARestartOfTheDaemonLosesNoNode) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    const std::string id = joined.welcome.node_id;
    stop();
    plane.clock.advance(std::chrono::hours(3));

    start("p2");
    advance(seconds(19));
    EXPECT_EQ(connection_of(id), "ready");
    advance(seconds(1));
    EXPECT_TRUE(becomes(id, "disconnected"));
    Joined back = join(again(hello, joined.welcome));

    EXPECT_TRUE(becomes(id, "ready"));
    EXPECT_EQ(back.welcome.epoch, 2);
}

TEST_P(Agents, AGpuThatIsGoneIsMissingOnce) {
    auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    const std::string id = joined.welcome.node_id;
    hello.inventory.gpus.pop_back();
    auto changed = heartbeat(hello, 1, 1);
    changed.gpus = hello.inventory.gpus;
    joined.peer->send(agent_protocol::encode(changed));
    (void)joined.peer->expect<agent_protocol::Ack>();

    for (int seq = 2; seq <= 5; ++seq) {
        advance(seconds(5));
        beat(joined, hello, seq);
    }
    advance(seconds(1));

    EXPECT_TRUE(eventually([&] { return node(id).at("gpus")[1].at("health") == "missing"; }));
    EXPECT_EQ(node(id).at("expectedGpus"), 2);
    EXPECT_THAT(
        events(), ::testing::ElementsAre("node.registered", "node.ready", "node.gpu.missing")
    );
}

TEST_P(Agents, AnXidIsHeardBetweenHeartbeats) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    joined.peer->send(agent_protocol::encode(agent_protocol::GpuEvent{"GPU-n1-0", "xid", 48}));
    beat(joined, hello, 1);
    advance(milliseconds(250));

    EXPECT_TRUE(eventually([&] {
        return node(joined.welcome.node_id).at("gpus")[0].at("health") == "failed";
    }));
}

TEST_P(Agents, AClockThatIsOffIsRecorded) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    auto skewed = heartbeat(hello, 1, 1);
    skewed.wall_ms += 60'000;
    joined.peer->send(agent_protocol::encode(skewed));
    (void)joined.peer->expect<agent_protocol::Ack>();
    advance(milliseconds(250));

    EXPECT_TRUE(eventually([&] { return node(joined.welcome.node_id).at("clockSkewMs") == 60'000; })
    );
}

TEST_P(Agents, ANodeThatIsRemovedIsCutOff) {
    const auto hello = Lab::hello("n1", token());
    Joined joined = join(hello);
    plane.call(
        "nodes/remove",
        TestPlane::admin_of("acme"),
        {{"tenantId", "acme"}, {"nodeId", joined.welcome.node_id}}
    );

    EXPECT_TRUE(joined.peer->is_closed_within(seconds(10)));
    auto peer = connect();
    peer->send(agent_protocol::encode(again(hello, joined.welcome)));
    const auto refused = peer->expect<agent_protocol::Refused>();
    EXPECT_EQ(refused.code, "UNAUTHENTICATED");
    EXPECT_FALSE(refused.retry_after_ms);
}

TEST_P(Agents, AnAgentMovesToAnotherProcessAndTheFirstLetsGo) {
    if (GetParam() == store::Engine::Sqlite) {
        return;  // one process alone
    }
    const auto hello = Lab::hello("n1", token());
    Joined first = join(hello);
    const auto old_server = std::move(server);
    const auto old_endpoint = std::move(endpoint);
    endpoint = std::make_unique<AgentEndpoint>(
        plane.runtime(), EndpointOptions{.process = "p2", .limits = {}, .beat = kBeat}
    );
    // The connection of the first process lives on; the second takes the agent's next hello.
    capacity::Admitted admitted =
        capacity::admit_agent(plane.runtime(), again(hello, first.welcome), "p2");
    plane.database().notify(capacity::kNodesChannel);

    EXPECT_EQ(admitted.held_by, "p1");
    EXPECT_TRUE(first.peer->is_closed_within(seconds(10)));
    EXPECT_EQ(connection_of(first.welcome.node_id), "ready");
}

TEST_P(Agents, TlsCarriesItToo) {
    start("p1", {}, Wire::Tls);
    const auto hello = Lab::hello("n1", token());
    auto peer = connect(Wire::Tls);

    peer->send(agent_protocol::encode(hello));
    const auto welcome = peer->expect<agent_protocol::Welcome>();
    peer->send(agent_protocol::encode(heartbeat(hello, welcome.epoch, 1)));

    EXPECT_EQ(peer->expect<agent_protocol::Ack>().seq, 1);
}

}  // namespace
}  // namespace compute::daemon::agents
