// Nodes for tests: machines that say hello, through the code that answers agents.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "agent_protocol/messages.h"
#include "modules/capacity/node_admission.h"

#include "tests/support/test_plane.h"

namespace compute::capacity {

struct Machine {
    std::string name;
    std::int64_t cpu_milli = 96'000;
    std::int64_t memory_mib = 786'432;
    std::int64_t gpus = 8;
    std::string model = "A100";
    std::string id = "m-" + name;
};

inline agent_protocol::Hello hello_of(const Machine& machine) {
    agent_protocol::Hello hello;
    hello.machine_id = machine.id;
    hello.boot_id = "b1";
    hello.inventory.cpu_milli = machine.cpu_milli;
    hello.inventory.memory_mib = machine.memory_mib;
    for (std::int64_t i = 0; i < machine.gpus; ++i) {
        agent_protocol::Gpu gpu;
        gpu.uuid = "GPU-" + machine.id + "-" + std::to_string(i);
        gpu.index = i;
        gpu.model = machine.model;
        gpu.memory_mib = 81'920;
        gpu.pci_bus_id = "0000:0" + std::to_string(i % 10) + ":00.0";
        hello.inventory.gpus.push_back(gpu);
    }
    return hello;
}

inline std::string token_of(
    support::TestPlane& plane, const Json& pool, const Json& more = Json::object()
) {
    Json input{{"tenantId", pool.at("tenantId")}, {"poolId", pool.at("id")}};
    input.update(more);
    const std::string tenant = pool.at("tenantId").get<std::string>();
    return plane.call("nodes/createToken", support::TestPlane::admin_of(tenant), input)
        .at("token")
        .get<std::string>();
}

inline agent_protocol::Hello with_token(const Machine& machine, const std::string& token) {
    agent_protocol::Hello hello = hello_of(machine);
    hello.name = machine.name;
    hello.token = crypto::Secret(token);
    return hello;
}

inline agent_protocol::Hello with_credential(const Machine& machine, const Admitted& admitted) {
    agent_protocol::Hello hello = hello_of(machine);
    hello.node_id = admitted.node.id.str();
    hello.credential = admitted.credential;
    return hello;
}

// Joins with a token of its own; the process that holds it is "p1".
inline Admitted join_node(support::TestPlane& plane, const Json& pool, const Machine& machine) {
    return admit_agent(plane.runtime(), with_token(machine, token_of(plane, pool)), "p1");
}

}  // namespace compute::capacity
