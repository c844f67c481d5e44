// Many nodes in one process: what a fleet document declares, as if the machines were there.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/gpu_source.h"
#include "crypto/crypto.h"
#include "modules/capacity/name_list.h"

namespace compute::agent {
namespace {

constexpr std::size_t kMaxUses = 10'000;  // of one token
constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::size_t kMaxLine = 4096;

struct SimulatedNode {
    agent_protocol::Inventory whole;
    std::set<std::int64_t> pulled;  // indexes of GPUs
};

class Simulation {
public:
    Simulation(const SimulateOptions& options, Rng& rng, Log& log)
        : options_(options), log_(log), runner_(options.server, rng, log) {}

    void enrol();
    void run();

private:
    void enrol_pool(const std::string& tenant, const Json& pool);
    void add_node(
        const std::string& pool_id,
        const std::string& name,
        const Json& group,
        const crypto::Secret& token
    );
    void on_live(std::size_t index);
    void on_input();
    void obey(const std::string& line);
    void show_gpus(std::size_t index);
    std::optional<std::size_t> find(const std::string& name) const;

    const SimulateOptions& options_;
    Log& log_;
    Runner runner_;
    std::vector<SimulatedNode> nodes_;
    std::map<std::string, std::size_t> by_name_;
    std::vector<bool> was_live_;
    std::size_t waited_for_ = 0;
    std::string input_;
    bool is_over_ = false;
};

const Json& member(const Json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end()) {
        throw invalid_input(std::string("document: a member is missing: ") + name);
    }
    return *found;
}

void Simulation::enrol() {
    const auto tenant = member(options_.document, "tenantId").get<std::string>();
    for (const Json& pool : member(options_.document, "pools")) {
        if (pool.contains("nodeGroups") && !pool.at("nodeGroups").empty()) {
            enrol_pool(tenant, pool);
        }
    }
    was_live_.assign(nodes_.size(), false);
    waited_for_ = nodes_.size();
}

void Simulation::enrol_pool(const std::string& tenant, const Json& pool) {
    const auto name = member(pool, "name").get<std::string>();
    const Json found =
        options_.call("pools/list", {{"tenantId", tenant}, {"name", name}, {"shared", false}});
    if (found.at("items").empty()) {
        throw not_found("document: tenant " + tenant + " has no pool " + name);
    }
    const auto pool_id = found.at("items").front().at("id").get<std::string>();
    std::vector<std::pair<std::string, const Json*>> names;
    for (const Json& group : pool.at("nodeGroups")) {
        for (std::string& one :
             capacity::expand_names(member(group, "names").get<std::string>(), "names")) {
            names.emplace_back(std::move(one), &group);
        }
    }
    for (std::size_t at = 0; at < names.size(); at += kMaxUses) {
        const std::size_t count = std::min(kMaxUses, names.size() - at);
        const Json token = options_.call(
            "nodes/createToken", {{"tenantId", tenant}, {"poolId", pool_id}, {"maxUses", count}}
        );
        const crypto::Secret secret(token.at("token").get<std::string>());
        for (std::size_t i = at; i < at + count; ++i) {
            add_node(pool_id, names[i].first, *names[i].second, secret);
        }
    }
}

void Simulation::add_node(
    const std::string& pool_id,
    const std::string& name,
    const Json& group,
    const crypto::Secret& token
) {
    constexpr std::size_t kIdDigits = 32;
    Identity identity;
    identity.name = name;
    // The same machine whenever the same fleet is simulated, so that it can come back.
    identity.machine_id =
        "sim-" + crypto::to_hex(crypto::sha256(pool_id + "/" + name)).substr(0, kIdDigits);
    identity.boot_id = "sim";
    identity.token = token;
    SimulatedNode node;
    node.whole.cpu_milli = member(group, "cpuMilli").get<std::int64_t>();
    node.whole.memory_mib = member(group, "memoryMib").get<std::int64_t>();
    node.whole.gpus = fake_gpus(
        member(group, "gpuCount").get<std::int64_t>(),
        member(group, "gpuModel").get<std::string>(),
        identity.machine_id
    );
    const std::size_t index = runner_.add(std::move(identity), node.whole);
    nodes_.push_back(std::move(node));
    by_name_.emplace(name, index);
}

void Simulation::on_live(std::size_t index) {
    if (!was_live_[index]) {
        was_live_[index] = true;
        if (--waited_for_ == 0) {
            options_.print("ready " + std::to_string(nodes_.size()));
        }
    }
}

void Simulation::on_input() {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(options_.input_fd, bytes.data(), bytes.size());
    if (count <= 0) {
        if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            runner_.forget_input();
        }
        return;
    }
    input_.append(bytes.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos;) {
        obey(input_.substr(0, end));
        input_.erase(0, end + 1);
    }
    if (input_.size() > kMaxLine) {
        input_.clear();
    }
}

std::optional<std::size_t> Simulation::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void Simulation::show_gpus(std::size_t index) {
    const SimulatedNode& node = nodes_[index];
    agent_protocol::Inventory inventory = node.whole;
    std::erase_if(inventory.gpus, [&](const agent_protocol::Gpu& gpu) {
        return node.pulled.contains(gpu.index);
    });
    runner_.session(index).set_inventory(std::move(inventory));
}

void Simulation::obey(const std::string& line) {
    std::istringstream words(line);
    std::string order;
    std::string name;
    words >> order >> name;
    if (order.empty()) {
        return;
    }
    if (order == "quit") {
        is_over_ = true;
        return;
    }
    const auto index = find(name);
    std::int64_t number = 0;
    const bool has_number = static_cast<bool>(words >> number);
    if (index && order == "drop") {
        runner_.stay_away(*index);
    } else if (index && order == "pull" && has_number) {
        nodes_[*index].pulled.insert(number);
        show_gpus(*index);
    } else if (index && order == "return") {
        nodes_[*index].pulled.clear();
        show_gpus(*index);
        runner_.come_back(*index);
    } else if (index && order == "skew" && has_number) {
        runner_.session(*index).set_skew(number * kMsPerSecond);
    } else {
        log_.warning("agent.order_unknown", {{"order", line.substr(0, kMaxLine)}});
    }
}

void Simulation::run() {
    Runner::Hooks hooks;
    hooks.on_live = [this](std::size_t index) { on_live(index); };
    hooks.on_credential = [](std::size_t) {};  // kept in memory; a new simulation enrols anew
    hooks.on_refused = [](std::size_t, const agent_protocol::Refused&) { return false; };
    hooks.on_fenced = [this](std::size_t index) {
        log_.error("agent.fenced", {{"name", runner_.session(index).identity().name}});
    };
    hooks.on_round = [this] { return !is_over_ && !options_.is_stopping(); };
    runner_.watch_input(options_.input_fd, [this] { on_input(); });
    if (nodes_.empty()) {
        options_.print("ready 0");
    }
    runner_.run(hooks);
}

}  // namespace

void run_simulation(const SimulateOptions& options, Rng& rng, Log& log) {
    Simulation simulation(options, rng, log);
    simulation.enrol();
    simulation.run();
}

}  // namespace compute::agent
