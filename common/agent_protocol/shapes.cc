#include "agent_protocol/shapes.h"

#include <map>
#include <string>

#include "agent_protocol/inventory.h"
#include "agent_protocol/messages.h"

namespace compute::agent_protocol {
namespace {

constexpr std::int64_t kMaxCount = 9'007'199'254'740'992;  // 2^53
constexpr std::int64_t kMaxPeriodMs = 86'400'000;
constexpr std::int64_t kMaxSignal = 64;
constexpr std::int64_t kMaxExitCode = 255;
constexpr std::int64_t kMaxStream = 4'294'967'295;
constexpr std::size_t kMaxMessage = 4096;

schema::Shape count() {
    return schema::integer({.min = 0, .max = kMaxCount});
}

schema::Shape word(const char* pattern, std::size_t length) {
    return schema::string({.pattern = pattern, .max_length = length});
}

schema::Shape secret() {
    return word("^[A-Za-z0-9_-]{16,128}$", 128);
}

schema::Shape workload_id() {
    return word("^[a-z0-9_]{1,64}$", 64);
}

schema::Shape machine_word() {
    return word("^[A-Za-z0-9._:-]{1,128}$", 128);
}

schema::Shape workloads() {
    return schema::array(
        schema::object(
            {{"id", workload_id(), true, ""},
             {"attempt", count(), true, ""},
             {"state", word("^[a-z-]{1,32}$", 32), true, ""}}
        ),
        {.min_items = 0, .max_items = kMaxWorkloads, .unique = false}
    );
}

schema::Shape abilities() {
    return schema::object(
        {{"cgroup", schema::one_of({"v2", "v1", "none"}), true, ""},
         {"pty", schema::boolean(), true, ""},
         {"mps", schema::boolean(), true, ""}}
    );
}

using Shapes = std::map<std::string, schema::Shape, std::less<>>;

Shapes agent_shapes() {
    Shapes shapes;
    shapes.emplace(
        "hello",
        schema::object(
            {{"v", schema::integer({.min = kVersion, .max = kVersion}), true, ""},
             {"token", secret(), false, ""},
             {"name", schema::name(), false, ""},
             {"nodeId", schema::id_of("node_"), false, ""},
             {"credential", secret(), false, ""},
             {"machineId", machine_word(), true, ""},
             {"bootId", machine_word(), true, ""},
             {"inventory", inventory_shape(), true, ""},
             {"can", abilities(), true, ""},
             {"workloads", workloads(), true, ""}}
        )
    );
    shapes.emplace(
        "heartbeat",
        schema::object(
            {{"epoch", count(), true, ""},
             {"seq", count(), true, ""},
             {"monotonicMs", count(), true, ""},
             {"wallMs", count(), true, ""},
             {"inventoryHash", word("^[0-9a-f]{64}$", 64), true, ""},
             {"gpus", gpus_shape(), false, ""},
             {"workloads", workloads(), false, ""}}
        )
    );
    shapes.emplace(
        "status",
        schema::object(
            {{"id", workload_id(), true, ""},
             {"attempt", count(), true, ""},
             {"state", word("^[a-z-]{1,32}$", 32), true, ""},
             {"pid", count(), false, ""},
             {"exitCode", schema::integer({.min = 0, .max = kMaxExitCode}), false, ""},
             {"signal", schema::integer({.min = 1, .max = kMaxSignal}), false, ""},
             {"reason", schema::string({.pattern = {}, .max_length = 512}), false, ""}}
        )
    );
    shapes.emplace(
        "gpuEvent",
        schema::object(
            {{"uuid", word("^[A-Za-z0-9._:/-]{1,96}$", 96), true, ""},
             {"kind", schema::one_of({"xid", "fallen-off"}), true, ""},
             {"xid", schema::integer({.min = 1, .max = 9999}), false, ""}}
        )
    );
    return shapes;
}

Shapes daemon_shapes() {
    const schema::Shape period = schema::integer({.min = 1, .max = kMaxPeriodMs});
    Shapes shapes;
    shapes.emplace(
        "welcome",
        schema::object(
            {{"nodeId", schema::id_of("node_"), true, ""},
             {"credential", secret(), false, ""},
             {"epoch", count(), true, ""},
             {"heartbeatMs", period, true, ""},
             {"fenceMs", period, true, ""},
             {"desired",
              schema::array(
                  schema::any_object(),
                  {.min_items = 0, .max_items = kMaxWorkloads, .unique = false}
              ),
              true,
              ""},
             {"features",
              schema::array(
                  word("^[a-z-]{1,32}$", 32), {.min_items = 0, .max_items = 32, .unique = true}
              ),
              true,
              ""}}
        )
    );
    shapes.emplace(
        "ack",
        schema::object(
            {{"seq", count(), true, ""},
             {"desiredVersion", count(), true, ""},
             {"heartbeatMs", period, true, ""}}
        )
    );
    shapes.emplace(
        "refused",
        schema::object(
            {{"code", word("^[A-Z_]{1,64}$", 64), true, ""},
             {"message", schema::string({.pattern = {}, .max_length = kMaxMessage}), true, ""},
             {"retryAfterMs", schema::integer({.min = 0, .max = kMaxPeriodMs}), false, ""}}
        )
    );
    const schema::Field id{"id", workload_id(), true, ""};
    const schema::Field attempt{"attempt", count(), true, ""};
    shapes.emplace(
        "assign", schema::object({id, attempt, {"spec", schema::any_object(), true, ""}})
    );
    shapes.emplace("stop", schema::object({id, attempt, {"graceMs", count(), true, ""}}));
    shapes.emplace("renew", schema::object({id, attempt, {"remainingMs", count(), true, ""}}));
    shapes.emplace(
        "open",
        schema::object(
            {{"stream", schema::integer({.min = 1, .max = kMaxStream}), true, ""},
             {"kind", schema::one_of({"tcp", "pty", "exec", "log"}), true, ""},
             {"target", schema::any_object(), true, ""}}
        )
    );
    return shapes;
}

}  // namespace

const schema::Shape* find_shape(Sender sender, std::string_view type) {
    static const Shapes kAgent = agent_shapes();
    static const Shapes kDaemon = daemon_shapes();
    const Shapes& shapes = sender == Sender::Agent ? kAgent : kDaemon;
    const auto found = shapes.find(type);
    return found == shapes.end() ? nullptr : &found->second;
}

}  // namespace compute::agent_protocol
