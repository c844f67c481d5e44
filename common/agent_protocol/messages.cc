#include "agent_protocol/messages.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "agent_protocol/frame.h"
#include "agent_protocol/shapes.h"
#include "core/json.h"

namespace compute::agent_protocol {
namespace {

template <class T>
std::optional<T> find(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found == json.end() ? std::nullopt : std::optional(found->get<T>());
}

std::optional<crypto::Secret> find_secret(const Json& json, const char* name) {
    auto text = find<std::string>(json, name);
    return text ? std::optional(crypto::Secret(*std::move(text))) : std::nullopt;
}

template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
    if (value) {
        json[name] = *value;
    }
}

void put(Json& json, const char* name, const std::optional<crypto::Secret>& secret) {
    if (secret) {
        json[name] = std::string(secret->reveal());
    }
}

std::string frame_of(const Json& json) {
    return encode_control(dump_json(json));
}

std::vector<Workload> read_workloads(const Json& json) {
    std::vector<Workload> workloads;
    if (const auto list = json.find("workloads"); list != json.end()) {
        for (const Json& item : *list) {
            workloads.push_back(
                {item.at("id").get<std::string>(),
                 item.at("attempt").get<std::int64_t>(),
                 item.at("state").get<std::string>()}
            );
        }
    }
    return workloads;
}

Json workloads_json(const std::vector<Workload>& workloads) {
    Json list = Json::array();
    for (const Workload& one : workloads) {
        list.push_back({{"id", one.id}, {"attempt", one.attempt}, {"state", one.state}});
    }
    return list;
}

Hello read_hello(const Json& json) {
    Hello hello;
    hello.v = json.at("v").get<std::int64_t>();
    hello.token = find_secret(json, "token");
    hello.name = find<std::string>(json, "name");
    hello.node_id = find<std::string>(json, "nodeId");
    hello.credential = find_secret(json, "credential");
    hello.machine_id = json.at("machineId").get<std::string>();
    hello.boot_id = json.at("bootId").get<std::string>();
    hello.inventory = Inventory::decode(json.at("inventory"));
    hello.can = Abilities::decode(json.at("can"));
    hello.workloads = read_workloads(json);
    if (hello.token.has_value() == hello.credential.has_value()) {
        throw invalid_input("hello: must carry either token or credential");
    }
    if (hello.token.has_value() != hello.name.has_value()) {
        throw invalid_input("name: belongs to a token");
    }
    if (hello.credential.has_value() != hello.node_id.has_value()) {
        throw invalid_input("nodeId: belongs to a credential");
    }
    check_gpus(hello.inventory.gpus);
    return hello;
}

Heartbeat read_heartbeat(const Json& json) {
    Heartbeat heartbeat;
    heartbeat.epoch = json.at("epoch").get<std::int64_t>();
    heartbeat.seq = json.at("seq").get<std::int64_t>();
    heartbeat.monotonic_ms = json.at("monotonicMs").get<std::int64_t>();
    heartbeat.wall_ms = json.at("wallMs").get<std::int64_t>();
    heartbeat.inventory_hash = json.at("inventoryHash").get<std::string>();
    if (const auto gpus = json.find("gpus"); gpus != json.end()) {
        heartbeat.gpus = decode_gpus(*gpus);
        check_gpus(*heartbeat.gpus);
    }
    heartbeat.workloads = read_workloads(json);
    return heartbeat;
}

Status read_status(const Json& json) {
    Status status;
    status.id = json.at("id").get<std::string>();
    status.attempt = json.at("attempt").get<std::int64_t>();
    status.state = json.at("state").get<std::string>();
    status.pid = find<std::int64_t>(json, "pid");
    status.exit_code = find<std::int64_t>(json, "exitCode");
    status.signal = find<std::int64_t>(json, "signal");
    status.reason = find<std::string>(json, "reason");
    return status;
}

GpuEvent read_gpu_event(const Json& json) {
    GpuEvent event;
    event.uuid = json.at("uuid").get<std::string>();
    event.kind = json.at("kind").get<std::string>();
    event.xid = find<std::int64_t>(json, "xid");
    if ((event.kind == "xid") != event.xid.has_value()) {
        throw invalid_input("xid: belongs to an event of kind xid");
    }
    return event;
}

Welcome read_welcome(const Json& json) {
    Welcome welcome;
    welcome.node_id = json.at("nodeId").get<std::string>();
    welcome.credential = find_secret(json, "credential");
    welcome.epoch = json.at("epoch").get<std::int64_t>();
    welcome.heartbeat_ms = json.at("heartbeatMs").get<std::int64_t>();
    welcome.fence_ms = json.at("fenceMs").get<std::int64_t>();
    welcome.features = json.at("features").get<std::vector<std::string>>();
    return welcome;
}

Ack read_ack(const Json& json) {
    return {
        json.at("seq").get<std::int64_t>(),
        json.at("desiredVersion").get<std::int64_t>(),
        json.at("heartbeatMs").get<std::int64_t>()};
}

Refused read_refused(const Json& json) {
    return {
        json.at("code").get<std::string>(),
        json.at("message").get<std::string>(),
        find<std::int64_t>(json, "retryAfterMs")};
}

Order read_order(const std::string& type, const Json& json) {
    return {
        type,
        json.value("id", std::string()),
        json.value("attempt", std::int64_t{0}),
        json.value("stream", std::uint32_t{0})};
}

// The members without `type`, checked against the message's shape.
std::pair<std::string, Json> take_apart(std::string_view text, Sender sender) {
    Json json = parse_json(text);
    if (!json.is_object()) {
        throw invalid_input("message: must be an object");
    }
    const auto type = json.find("type");
    if (type == json.end() || !type->is_string()) {
        throw invalid_input("type: Required");
    }
    std::string name = type->get<std::string>();
    json.erase("type");
    const schema::Shape* shape = find_shape(sender, name);
    if (shape == nullptr) {
        throw invalid_input("type: is no message of this protocol");
    }
    return {std::move(name), shape->check(json, "")};
}

}  // namespace

Abilities Abilities::decode(const Json& value) {
    return {
        value.at("cgroup").get<std::string>(),
        value.at("pty").get<bool>(),
        value.at("mps").get<bool>()};
}

Json Abilities::json() const {
    return {{"cgroup", cgroup}, {"pty", has_pty}, {"mps", has_mps}};
}

FromAgent parse_from_agent(std::string_view text) {
    const auto [type, json] = take_apart(text, Sender::Agent);
    if (type == "hello") {
        return read_hello(json);
    }
    if (type == "heartbeat") {
        return read_heartbeat(json);
    }
    if (type == "status") {
        return read_status(json);
    }
    return read_gpu_event(json);
}

FromDaemon parse_from_daemon(std::string_view text) {
    const auto [type, json] = take_apart(text, Sender::Daemon);
    if (type == "welcome") {
        return read_welcome(json);
    }
    if (type == "ack") {
        return read_ack(json);
    }
    if (type == "refused") {
        return read_refused(json);
    }
    return read_order(type, json);
}

std::string encode(const Hello& hello) {
    Json json{
        {"type", "hello"},
        {"v", hello.v},
        {"machineId", hello.machine_id},
        {"bootId", hello.boot_id},
        {"inventory", hello.inventory.json()},
        {"can", hello.can.json()},
        {"workloads", workloads_json(hello.workloads)}};
    put(json, "token", hello.token);
    put(json, "name", hello.name);
    put(json, "nodeId", hello.node_id);
    put(json, "credential", hello.credential);
    return frame_of(json);
}

std::string encode(const Heartbeat& heartbeat) {
    Json json{
        {"type", "heartbeat"},
        {"epoch", heartbeat.epoch},
        {"seq", heartbeat.seq},
        {"monotonicMs", heartbeat.monotonic_ms},
        {"wallMs", heartbeat.wall_ms},
        {"inventoryHash", heartbeat.inventory_hash}};
    if (heartbeat.gpus) {
        json["gpus"] = gpus_json(*heartbeat.gpus);
    }
    if (!heartbeat.workloads.empty()) {
        json["workloads"] = workloads_json(heartbeat.workloads);
    }
    return frame_of(json);
}

std::string encode(const Status& status) {
    Json json{
        {"type", "status"},
        {"id", status.id},
        {"attempt", status.attempt},
        {"state", status.state}};
    put(json, "pid", status.pid);
    put(json, "exitCode", status.exit_code);
    put(json, "signal", status.signal);
    put(json, "reason", status.reason);
    return frame_of(json);
}

std::string encode(const GpuEvent& event) {
    Json json{{"type", "gpuEvent"}, {"uuid", event.uuid}, {"kind", event.kind}};
    put(json, "xid", event.xid);
    return frame_of(json);
}

std::string encode(const Welcome& welcome) {
    Json json{
        {"type", "welcome"},
        {"nodeId", welcome.node_id},
        {"epoch", welcome.epoch},
        {"heartbeatMs", welcome.heartbeat_ms},
        {"fenceMs", welcome.fence_ms},
        {"desired", Json::array()},
        {"features", welcome.features}};
    put(json, "credential", welcome.credential);
    return frame_of(json);
}

std::string encode(const Ack& ack) {
    return frame_of(
        {{"type", "ack"},
         {"seq", ack.seq},
         {"desiredVersion", ack.desired_version},
         {"heartbeatMs", ack.heartbeat_ms}}
    );
}

std::string encode(const Refused& refused) {
    Json json{{"type", "refused"}, {"code", refused.code}, {"message", refused.message}};
    put(json, "retryAfterMs", refused.retry_after_ms);
    return frame_of(json);
}

}  // namespace compute::agent_protocol
