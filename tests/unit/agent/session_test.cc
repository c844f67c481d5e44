#include "agent/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/seeded_rng.h"

namespace compute::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kSecret(20, 's');
const char* const kNodeId = "node_00000000000000000000000000";
constexpr std::string_view kSwitched = "HTTP/1.1 101 Switching Protocols\r\nX: y\r\n\r\n";

class Sessions : public ::testing::Test {
protected:
    support::SeededRng rng{1};
    Session session{identity(), "host:1", "/api/compute/agent/connect"};

    static Identity identity() {
        Identity identity;
        identity.name = "gpu-01";
        identity.machine_id = "m1";
        identity.boot_id = "b1";
        identity.token = crypto::Secret(kSecret);
        return identity;
    }
    void SetUp() override {
        agent_protocol::Inventory inventory;
        inventory.cpu_milli = 1000;
        inventory.memory_mib = 1000;
        session.set_inventory(inventory);
    }
    static agent_protocol::FromAgent message_of(const std::string& bytes) {
        agent_protocol::FrameReader reader;
        reader.feed(bytes);
        return agent_protocol::parse_from_agent(reader.next().value().payload);
    }
    void join(std::int64_t now = 0) {
        session.begin();
        (void)session.take_output();
        ASSERT_TRUE(session.take(kSwitched, {now, now}));
        (void)session.take_output();
        ASSERT_TRUE(session.take(
            agent_protocol::encode(agent_protocol::Welcome{
                kNodeId, crypto::Secret(kSecret), 1, 5000, 100'000, {}}),
            {now + 10, now + 10}
        ));
    }
};

TEST_F(Sessions, BeginsAsHttpAndThenSaysHello) {
    session.begin();
    EXPECT_THAT(
        session.take_output(),
        StartsWith("GET /api/compute/agent/connect HTTP/1.1\r\nHost: host:1\r\nConnection: Upgrade")
    );

    EXPECT_TRUE(session.take(kSwitched.substr(0, 20), {}));
    EXPECT_THAT(session.take_output(), IsEmpty());
    EXPECT_TRUE(session.take(kSwitched.substr(20), {}));

    const auto hello = std::get<agent_protocol::Hello>(message_of(session.take_output()));
    EXPECT_EQ(hello.token->reveal(), kSecret);
    EXPECT_EQ(hello.name, "gpu-01");
}

TEST_F(Sessions, TheCredentialReplacesTheToken) {
    join();
    EXPECT_TRUE(session.take_new_credential());
    EXPECT_FALSE(session.take_new_credential());
    (void)session.end({}, rng);

    session.begin();
    (void)session.take_output();
    EXPECT_TRUE(session.take(kSwitched, {}));

    const auto hello = std::get<agent_protocol::Hello>(message_of(session.take_output()));
    EXPECT_FALSE(hello.token);
    EXPECT_EQ(hello.node_id, kNodeId);
    EXPECT_EQ(hello.credential->reveal(), kSecret);
}

TEST_F(Sessions, SendsAHeartbeatWhenItIsDue) {
    join(0);
    session.tick({5009, 5009});
    EXPECT_THAT(session.take_output(), IsEmpty());

    session.set_skew(7000);
    session.tick({5010, 5010});

    const auto heartbeat = std::get<agent_protocol::Heartbeat>(message_of(session.take_output()));
    EXPECT_EQ(heartbeat.seq, 1);
    EXPECT_EQ(heartbeat.epoch, 1);
    EXPECT_EQ(heartbeat.wall_ms, 12'010);
    EXPECT_FALSE(heartbeat.gpus);
}

TEST_F(Sessions, AChangedInventoryIsToldAtOnceAndOnce) {
    join(0);
    agent_protocol::Inventory inventory;
    inventory.gpus.push_back({"GPU-1", 0, "H100", 1, "", {}, {}});
    session.set_inventory(inventory);

    session.tick({20, 20});
    const auto first = std::get<agent_protocol::Heartbeat>(message_of(session.take_output()));
    session.tick({5020, 5020});
    const auto second = std::get<agent_protocol::Heartbeat>(message_of(session.take_output()));

    EXPECT_EQ(first.gpus, inventory.gpus);
    EXPECT_FALSE(second.gpus);
    EXPECT_EQ(first.inventory_hash, second.inventory_hash);
}

TEST_F(Sessions, TheFenceCountsFromTheSendTimeOfWhatWasAnswered) {
    join(0);  // the hello was sent at 0
    session.tick({5010, 0});
    session.tick({10'010, 0});
    EXPECT_TRUE(session.take(agent_protocol::encode(agent_protocol::Ack{1, 0, 5000}), {60'000, 0}));

    session.tick({105'009, 0});
    EXPECT_FALSE(session.take_fenced());
    session.tick({105'010, 0});
    EXPECT_TRUE(session.take_fenced());
    EXPECT_FALSE(session.take_fenced());
    EXPECT_TRUE(session.fence().has_fired());
}

TEST_F(Sessions, TheFenceRunsOnWithoutAConnection) {
    join(0);
    (void)session.end({10, 10}, rng);

    session.tick({99'999, 0});
    EXPECT_FALSE(session.take_fenced());
    session.tick({100'000, 0});
    EXPECT_TRUE(session.take_fenced());
}

TEST_F(Sessions, ComesBackLaterAndLaterButNotTogether) {
    std::int64_t longest = 0;
    for (int i = 0; i < 10; ++i) {
        session.begin();
        const std::int64_t wait = session.end({0, 0}, rng);
        EXPECT_GE(wait, 500);
        EXPECT_LE(wait, 30'000);
        longest = std::max(longest, wait);
    }
    EXPECT_GT(longest, 14'999);
    join();
    EXPECT_LE(session.end({0, 0}, rng), 1000);
}

TEST_F(Sessions, ARefusalSaysHowLongToStayAway) {
    session.begin();
    EXPECT_TRUE(session.take(kSwitched, {}));
    EXPECT_FALSE(session.take(
        agent_protocol::encode(agent_protocol::Refused{"CONFLICT", "name: is taken", 40'000}), {}
    ));

    EXPECT_EQ(session.refusal()->message, "name: is taken");
    EXPECT_GE(session.end({0, 0}, rng), 40'000);
}

TEST_F(Sessions, AnAnswerThatIsNoUpgradeIsARefusal) {
    session.begin();

    EXPECT_FALSE(session.take(
        "HTTP/1.1 429 Too Many Requests\r\nA: b\r\n\r\n"
        R"({"error":{"code":"RATE_LIMITED","message":"too many failed attempts","retryAfterMs":7000}})",
        {}
    ));

    EXPECT_EQ(session.refusal()->code, "RATE_LIMITED");
    EXPECT_EQ(session.refusal()->retry_after_ms, 7000);
}

TEST_F(Sessions, AServerThatBreaksTheProtocolIsLeft) {
    join();
    EXPECT_FALSE(session.take("this is no frame at all", {}));
    EXPECT_THAT(session.refusal()->message, HasSubstr("breaks the protocol"));

    session.begin();
    EXPECT_FALSE(session.take(std::string(17'000, 'x'), {}));
}

TEST_F(Sessions, OrdersAboutWorkloadsAreRefused) {
    join();
    const Json assign{
        {"type", "assign"}, {"id", "ins_1"}, {"attempt", 2}, {"spec", Json::object()}};
    EXPECT_TRUE(session.take(agent_protocol::encode_control(assign.dump()), {}));

    const auto status = std::get<agent_protocol::Status>(message_of(session.take_output()));
    EXPECT_EQ(status.state, "failed");
    EXPECT_EQ(status.reason, "unsupported");
    EXPECT_EQ(status.attempt, 2);

    const Json open{{"type", "open"}, {"stream", 4}, {"kind", "tcp"}, {"target", Json::object()}};
    EXPECT_TRUE(session.take(agent_protocol::encode_control(open.dump()), {}));
    agent_protocol::FrameReader reader;
    reader.feed(session.take_output());
    const auto frame = reader.next().value();
    EXPECT_EQ(frame.stream, 4U);
    EXPECT_EQ(agent_protocol::parse_close(frame.payload).reason, "unsupported");
}

TEST_F(Sessions, GpuEventsWaitForAConnection) {
    session.report({"GPU-1", "xid", 79});
    session.tick({0, 0});
    EXPECT_THAT(session.take_output(), IsEmpty());
    join();

    session.tick({20, 20});

    EXPECT_EQ(std::get<agent_protocol::GpuEvent>(message_of(session.take_output())).xid, 79);
}

}  // namespace
}  // namespace compute::agent
