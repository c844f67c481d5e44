#include "agent_protocol/messages.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent_protocol/frame.h"
#include "core/json.h"

namespace compute::agent_protocol {
namespace {

const char* const kNodeId = "node_00000000000000000000000000";
const std::string kSecret(16, 's');

std::string payload_of(const std::string& bytes) {
    FrameReader reader;
    reader.feed(bytes);
    return reader.next().value().payload;
}

Json gpu_json(int index) {
    return {
        {"uuid", "GPU-" + std::to_string(index)},
        {"index", index},
        {"model", "H100"},
        {"memoryMib", 81'920},
        {"pciBusId", "0000:01:00.0"}};
}

Json hello_json() {
    return {
        {"type", "hello"},
        {"v", 1},
        {"token", kSecret},
        {"name", "gpu-01"},
        {"machineId", "m-1"},
        {"bootId", "b-1"},
        {"inventory",
         {{"cpuMilli", 96'000}, {"memoryMib", 393'216}, {"gpus", {gpu_json(0), gpu_json(1)}}}},
        {"can", {{"cgroup", "v2"}, {"pty", true}, {"mps", false}}},
        {"workloads", Json::array()}};
}

Json heartbeat_json() {
    return {
        {"type", "heartbeat"},
        {"epoch", 3},
        {"seq", 4},
        {"monotonicMs", 5},
        {"wallMs", 6},
        {"inventoryHash", std::string(64, 'a')}};
}

// The reason why an agent's message is refused; empty when it is taken.
std::string refusal_of(const Json& json) {
    try {
        (void)parse_from_agent(json.dump());
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        return error.message();
    }
    return "";
}

std::string daemon_refusal_of(const Json& json) {
    try {
        (void)parse_from_daemon(json.dump());
    } catch (const ComputeError& error) {
        return error.message();
    }
    return "";
}

// `value` is taken at `pointer`, `beyond` is refused in words that name the member.
void expect_limit(const Json& message, const char* pointer, const Json& value, const Json& beyond) {
    Json at = message;
    at[Json::json_pointer(pointer)] = value;
    EXPECT_EQ(refusal_of(at), "") << pointer;
    at[Json::json_pointer(pointer)] = beyond;
    const std::string member(
        std::string_view(pointer).substr(std::string_view(pointer).rfind('/') + 1)
    );
    EXPECT_NE(refusal_of(at).find(member), std::string::npos) << pointer << ": " << refusal_of(at);
}

TEST(Messages, HelloComesBackAsItWasSent) {
    const auto hello = std::get<Hello>(parse_from_agent(hello_json().dump()));

    const auto again = std::get<Hello>(parse_from_agent(payload_of(encode(hello))));

    EXPECT_EQ(again.token->reveal(), kSecret);
    EXPECT_EQ(again.name, "gpu-01");
    EXPECT_EQ(again.inventory.gpus, hello.inventory.gpus);
    EXPECT_EQ(again.can.cgroup, "v2");
    EXPECT_TRUE(again.can.has_pty);
    EXPECT_FALSE(again.node_id);
}

TEST(Messages, HelloHasEitherATokenOrACredential) {
    Json json = hello_json();
    json["credential"] = kSecret;
    json["nodeId"] = kNodeId;
    EXPECT_EQ(refusal_of(json), "hello: must carry either token or credential");
    json.erase("token");
    EXPECT_EQ(refusal_of(json), "name: belongs to a token");
    json.erase("name");
    EXPECT_EQ(refusal_of(json), "");
    json.erase("nodeId");
    EXPECT_EQ(refusal_of(json), "nodeId: belongs to a credential");
    json.erase("credential");
    EXPECT_EQ(refusal_of(json), "hello: must carry either token or credential");
}

TEST(Messages, EveryBoundOfHelloIsKept) {
    const Json hello = hello_json();
    expect_limit(hello, "/v", 1, 2);
    expect_limit(hello, "/v", 1, 0);
    expect_limit(hello, "/token", std::string(128, 'a'), std::string(129, 'a'));
    expect_limit(hello, "/token", std::string(16, 'a'), std::string(15, 'a'));
    expect_limit(hello, "/name", "a" + std::string(62, 'b'), "a" + std::string(63, 'b'));
    expect_limit(hello, "/machineId", std::string(128, 'm'), std::string(129, 'm'));
    expect_limit(hello, "/bootId", std::string(128, 'm'), "");
    expect_limit(hello, "/inventory/cpuMilli", 1'024'000, 1'024'001);
    expect_limit(hello, "/inventory/cpuMilli", 1, 0);
    expect_limit(hello, "/inventory/memoryMib", 67'108'864, 67'108'865);
    expect_limit(hello, "/inventory/driver", std::string(64, 'd'), std::string(65, 'd'));
    expect_limit(hello, "/inventory/gpus/0/uuid", std::string(96, 'u'), std::string(97, 'u'));
    expect_limit(hello, "/inventory/gpus/0/index", 63, 64);
    expect_limit(hello, "/inventory/gpus/0/model", std::string(96, 'M'), std::string(97, 'M'));
    expect_limit(hello, "/inventory/gpus/0/memoryMib", 4'194'304, 4'194'305);
    expect_limit(hello, "/inventory/gpus/0/pciBusId", std::string(32, '0'), std::string(33, '0'));
    expect_limit(hello, "/inventory/gpus/0/numa", 1023, 1024);
    expect_limit(hello, "/inventory/gpus/0/link", "nvlink", "wire");
    expect_limit(hello, "/can/cgroup", "none", "v3");
}

TEST(Messages, HelloHasAtMostSixteenGpusEachOnce) {
    Json json = hello_json();
    json["inventory"]["gpus"] = Json::array();
    for (int i = 0; i < 16; ++i) {
        json["inventory"]["gpus"].push_back(gpu_json(i));
    }
    EXPECT_EQ(refusal_of(json), "");
    json["inventory"]["gpus"][15]["uuid"] = "GPU-0";
    EXPECT_EQ(refusal_of(json), "gpus[15].uuid: is given twice");
    json["inventory"]["gpus"][15] = gpu_json(15);
    json["inventory"]["gpus"][15]["index"] = 0;
    EXPECT_EQ(refusal_of(json), "gpus[15].index: is given twice");
    json["inventory"]["gpus"][15] = gpu_json(15);
    json["inventory"]["gpus"].push_back(gpu_json(16));
    EXPECT_NE(refusal_of(json).find("gpus"), std::string::npos);
}

TEST(Messages, HeartbeatComesBackAsItWasSent) {
    Json json = heartbeat_json();
    json["gpus"] = {gpu_json(1)};

    const auto heartbeat = std::get<Heartbeat>(parse_from_agent(json.dump()));
    const auto again = std::get<Heartbeat>(parse_from_agent(payload_of(encode(heartbeat))));

    EXPECT_EQ(again.epoch, 3);
    EXPECT_EQ(again.seq, 4);
    EXPECT_EQ(again.monotonic_ms, 5);
    EXPECT_EQ(again.wall_ms, 6);
    EXPECT_EQ(again.gpus, heartbeat.gpus);
}

TEST(Messages, EveryBoundOfHeartbeatIsKept) {
    const Json heartbeat = heartbeat_json();
    expect_limit(heartbeat, "/epoch", 9'007'199'254'740'991, -1);
    expect_limit(heartbeat, "/seq", 0, -1);
    expect_limit(heartbeat, "/wallMs", 0, -1);
    expect_limit(heartbeat, "/inventoryHash", std::string(64, '0'), std::string(63, '0'));
    expect_limit(heartbeat, "/inventoryHash", std::string(64, 'f'), std::string(64, 'g'));
}

TEST(Messages, WorkloadsAreLimited) {
    Json json = heartbeat_json();
    json["workloads"] = Json::array();
    for (int i = 0; i < 256; ++i) {
        json["workloads"].push_back({{"id", "ins_1"}, {"attempt", 1}, {"state", "running"}});
    }
    EXPECT_EQ(refusal_of(json), "");
    json["workloads"].push_back({{"id", "ins_1"}, {"attempt", 1}, {"state", "running"}});
    EXPECT_NE(refusal_of(json).find("workloads"), std::string::npos);
}

TEST(Messages, AStatusAndAGpuEventComeBackAsTheyWereSent) {
    const auto status = std::get<Status>(parse_from_agent(payload_of(encode(Status{
        "ins_1", 2, "failed", 7, 1, std::nullopt, "no room"}))));
    EXPECT_EQ(status.attempt, 2);
    EXPECT_EQ(status.exit_code, 1);
    EXPECT_EQ(status.reason, "no room");

    const auto event =
        std::get<GpuEvent>(parse_from_agent(payload_of(encode(GpuEvent{"GPU-1", "xid", 79}))));
    EXPECT_EQ(event.uuid, "GPU-1");
    EXPECT_EQ(event.xid, 79);
    EXPECT_EQ(
        refusal_of({{"type", "gpuEvent"}, {"uuid", "GPU-1"}, {"kind", "xid"}}),
        "xid: belongs to an event of kind xid"
    );
    expect_limit(
        {{"type", "gpuEvent"}, {"uuid", "GPU-1"}, {"kind", "xid"}, {"xid", 1}}, "/xid", 9999, 10'000
    );
}

TEST(Messages, UnknownMembersAndTypesAreRefused) {
    Json json = heartbeat_json();
    json["extra"] = 1;
    EXPECT_NE(refusal_of(json).find("extra"), std::string::npos);
    EXPECT_EQ(refusal_of({{"type", "welcome"}}), "type: is no message of this protocol");
    EXPECT_EQ(refusal_of(Json::object()), "type: Required");
    EXPECT_EQ(refusal_of(Json::array()), "message: must be an object");
    EXPECT_THROW((void)parse_from_agent("{"), ComputeError);
    EXPECT_EQ(daemon_refusal_of({{"type", "hello"}}), "type: is no message of this protocol");
}

TEST(Messages, WhatTheDaemonSaysComesBackAsItWasSent) {
    const auto welcome = std::get<Welcome>(parse_from_daemon(payload_of(encode(Welcome{
        kNodeId, crypto::Secret(kSecret), 2, 5000, 100'000, {"gpu-events"}}))));
    EXPECT_EQ(welcome.node_id, kNodeId);
    EXPECT_EQ(welcome.credential->reveal(), kSecret);
    EXPECT_EQ(welcome.fence_ms, 100'000);
    EXPECT_EQ(welcome.features, std::vector<std::string>{"gpu-events"});

    const auto ack = std::get<Ack>(parse_from_daemon(payload_of(encode(Ack{7, 1, 5000}))));
    EXPECT_EQ(ack.seq, 7);
    EXPECT_EQ(ack.heartbeat_ms, 5000);

    const auto refused = std::get<Refused>(
        parse_from_daemon(payload_of(encode(Refused{"CONFLICT", "name: is taken", 1000})))
    );
    EXPECT_EQ(refused.code, "CONFLICT");
    EXPECT_EQ(refused.retry_after_ms, 1000);
}

TEST(Messages, OrdersAboutWorkloadsAreToldFromNonsense) {
    const auto assign = std::get<Order>(parse_from_daemon(
        Json{{"type", "assign"}, {"id", "ins_1"}, {"attempt", 3}, {"spec", Json::object()}}.dump()
    ));
    EXPECT_EQ(assign.type, "assign");
    EXPECT_EQ(assign.attempt, 3);
    const auto open = std::get<Order>(parse_from_daemon(
        Json{{"type", "open"}, {"stream", 9}, {"kind", "tcp"}, {"target", Json::object()}}.dump()
    ));
    EXPECT_EQ(open.stream, 9U);
    EXPECT_NE(daemon_refusal_of({{"type", "stop"}, {"id", "ins_1"}, {"attempt", 1}}), "");
    EXPECT_NE(
        daemon_refusal_of(
            {{"type", "open"}, {"stream", 0}, {"kind", "tcp"}, {"target", Json::object()}}
        ),
        ""
    );
}

TEST(Inventory, TheHashIsOfTheSetNotOfItsOrder) {
    const std::vector<Gpu> gpus = decode_gpus(Json{gpu_json(0), gpu_json(1)});
    const std::vector<Gpu> turned{gpus[1], gpus[0]};
    const std::vector<Gpu> fewer{gpus[0]};

    EXPECT_EQ(inventory_hash(gpus), inventory_hash(turned));
    EXPECT_NE(inventory_hash(gpus), inventory_hash(fewer));
}

}  // namespace
}  // namespace compute::agent_protocol
