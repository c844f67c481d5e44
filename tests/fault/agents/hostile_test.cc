// Peers that are no honest agents.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "daemon/agents/failure_limit.h"

#include "tests/fault/agents/lab.h"
#include "tests/support/eventually.h"

namespace compute::daemon::agents {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class HostilePeers : public Lab {
protected:
    // What a stranger hears who sends these bytes in the place of a hello.
    agent_protocol::Refused refusal_of(std::string_view bytes) {
        auto peer = connect();
        peer->send(bytes);
        auto refused = peer->expect<agent_protocol::Refused>();
        EXPECT_TRUE(peer->is_closed_within(seconds(10)));
        return refused;
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, HostilePeers, support::both_engines(), support::engine_name);

TEST_P(HostilePeers, GarbageIsRefusedAndClosed) {
    EXPECT_THAT(refusal_of("GET / HTTP/1.1\r\n\r\n").message, HasSubstr("frame: "));
    EXPECT_THAT(
        refusal_of(agent_protocol::encode_control("{\"type\":\"hello\"")).code, "INVALID_INPUT"
    );
    EXPECT_EQ(
        refusal_of(agent_protocol::encode_control("{\"type\":\"nonsense\"}")).message,
        "type: is no message of this protocol"
    );
    EXPECT_EQ(
        refusal_of(agent_protocol::encode_frame({agent_protocol::FrameType::Data, 1, "x"})).message,
        "frame: the stream is not open"
    );
    EXPECT_EQ(
        refusal_of(agent_protocol::encode(heartbeat(hello("n1", "x"), 1, 1))).message,
        "message: must be hello"
    );
}

TEST_P(HostilePeers, AnOversizeFrameIsRefusedAtItsHeader) {
    EXPECT_EQ(
        refusal_of(std::string("\x7f\xff\xff\xff\0\0\0\0\0", 9)).message,
        "frame: must have at most 65,536 bytes"
    );
}

TEST_P(HostilePeers, HalfAFrameIsWaitedForAndThenDropped) {
    auto peer = connect();
    const std::string bytes = agent_protocol::encode(hello("n1", token()));
    peer->send(bytes.substr(0, bytes.size() / 2));
    ASSERT_TRUE(support::eventually([&] { return endpoint->stats().links == 1; }));

    advance(milliseconds(9000));
    EXPECT_EQ(endpoint->stats().links, 1U);
    advance(milliseconds(2000));

    EXPECT_TRUE(peer->is_closed_within(seconds(10)));
    EXPECT_TRUE(support::eventually([&] { return endpoint->stats().links == 0; }));
}

TEST_P(HostilePeers, WhoSaysNothingIsDropped) {
    auto peer = connect();
    ASSERT_TRUE(support::eventually([&] { return endpoint->stats().links == 1; }));
    advance(milliseconds(11'000));

    EXPECT_TRUE(peer->is_closed_within(seconds(10)));
}

TEST_P(HostilePeers, GuessingTokensIsSlowedDownButNotForOthersWithATokenBefore) {
    auto honest = join(hello("n1", token()));
    const std::string wrong = "bct_enroll_" + std::string(49, 'a');
    for (std::int64_t i = 0; i < FailureLimit::kBurst; ++i) {
        auto peer = connect();
        peer->send(agent_protocol::encode(hello("n2", wrong)));
        const auto refused = peer->expect<agent_protocol::Refused>();
        EXPECT_EQ(refused.code, "UNAUTHENTICATED");
        EXPECT_EQ(refused.message, "token: is not valid");
    }

    Peer late(server->address());
    EXPECT_EQ(late.upgrade(), 429);
    honest.peer->send(agent_protocol::encode(heartbeat(hello("n1", "x"), 1, 1)));
    EXPECT_EQ(honest.peer->expect<agent_protocol::Ack>().seq, 1);
    advance(seconds(2));
    Peer later(server->address());
    EXPECT_EQ(later.upgrade(), 101);
}

TEST_P(HostilePeers, AStolenCredentialFromAnotherMachineIsRefused) {
    auto honest = join(hello("n1", token()));
    auto stolen = again(hello("n1", "x"), honest.welcome);
    stolen.machine_id = "m-thief";
    auto peer = connect();
    peer->send(agent_protocol::encode(stolen));

    EXPECT_EQ(peer->expect<agent_protocol::Refused>().code, "CONFLICT");
    honest.peer->send(agent_protocol::encode(heartbeat(hello("n1", "x"), 1, 1)));
    EXPECT_EQ(honest.peer->expect<agent_protocol::Ack>().seq, 1);
}

TEST_P(HostilePeers, AFloodOfHeartbeatsIsCutOff) {
    auto joined = join(hello("n1", token()));
    std::string flood;
    for (int seq = 1; seq <= 400; ++seq) {
        flood += agent_protocol::encode(heartbeat(hello("n1", "x"), 1, seq));
    }
    joined.peer->send(flood);

    bool is_refused = false;
    while (const auto message = joined.peer->read()) {
        if (const auto* refused = std::get_if<agent_protocol::Refused>(&*message)) {
            EXPECT_EQ(refused->code, "RATE_LIMITED");
            is_refused = true;
        }
    }
    EXPECT_TRUE(is_refused);
}

TEST_P(HostilePeers, ASecondHelloOnOneConnectionIsRefused) {
    const auto first = hello("n1", token());
    auto joined = join(first);
    joined.peer->send(agent_protocol::encode(again(first, joined.welcome)));

    EXPECT_EQ(
        joined.peer->expect<agent_protocol::Refused>().message, "message: hello was said already"
    );
}

TEST_P(HostilePeers, StrangersAreLimited) {
    LoopLimits limits;
    limits.strangers = 2;
    start("p1", limits);
    auto one = connect();
    auto two = connect();
    ASSERT_TRUE(support::eventually([&] { return endpoint->stats().links == 2; }));

    Peer three(server->address());
    EXPECT_EQ(three.upgrade(), 429);
}

TEST_P(HostilePeers, AnotherProtocolIsRefusedAsHttp) {
    Peer peer(server->address());

    EXPECT_EQ(peer.upgrade("websocket"), 501);
}

TEST_P(HostilePeers, WhoGoesAwayWhileItsHelloIsJudgedLeavesANodeThatIsWatched) {
    {
        auto peer = connect();
        peer->send(agent_protocol::encode(hello("n1", token())));
    }
    ASSERT_TRUE(support::eventually([&] { return endpoint->stats().nodes == 1; }));
    advance(seconds(20));
    const Json nodes =
        plane.call("nodes/list", support::TestPlane::admin_of("acme"), {{"tenantId", "acme"}});

    EXPECT_TRUE(becomes(nodes.at("items")[0].at("id"), "disconnected"));
}

TEST(FailureLimits, AnAddressIsCleanAgainAfterAWhile) {
    FailureLimit limit;
    for (std::int64_t i = 0; i < FailureLimit::kBurst - 1; ++i) {
        limit.count("1.2.3.4", 0);
    }
    EXPECT_FALSE(limit.find_wait_ms("1.2.3.4", 0));
    limit.count("1.2.3.4", 0);

    EXPECT_EQ(limit.find_wait_ms("1.2.3.4", 0), 2000);
    EXPECT_EQ(limit.find_wait_ms("1.2.3.4", 1999), 1);
    EXPECT_FALSE(limit.find_wait_ms("1.2.3.4", 2000));
    EXPECT_FALSE(limit.find_wait_ms("5.6.7.8", 0));
    for (int i = 0; i < 100'000; ++i) {
        limit.count(std::to_string(i), 0);  // a flood of addresses costs no memory
    }
}

}  // namespace
}  // namespace compute::daemon::agents
