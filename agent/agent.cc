#include "agent/agent.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "agent/inventory_watch.h"
#include "agent/machine.h"

namespace compute::agent {
namespace {

constexpr std::int64_t kMaxFakeGpus = 16;

std::string credential_path(const AgentOptions& options) {
    return options.credential_file.empty() ? options.data + "/credential.json"
                                           : options.credential_file;
}

Identity make_identity(const AgentOptions& options, Rng& rng) {
    Identity identity;
    identity.name = options.name.empty() ? host_node_name() : options.name;
    identity.machine_id = machine_id(options.data, rng);
    identity.boot_id = boot_id();
    if (auto stored = read_credential(credential_path(options))) {
        identity.node_id = stored->node_id;
        identity.credential = stored->credential;
    } else if (!options.credential_file.empty()) {
        throw invalid_config(options.credential_file + ": is not there");
    }
    if (!options.token_file.empty()) {
        identity.token = read_token(options.token_file);
    }
    return identity;
}

agent_protocol::Inventory machine_inventory() {
    agent_protocol::Inventory inventory;
    inventory.cpu_milli = machine_cpu_milli();
    inventory.memory_mib = machine_memory_mib();
    return inventory;
}

// Which GPUs there are, and what becomes of them.
class Gpus {
public:
    Gpus(const AgentOptions& options, const Identity& identity, Log& log) {
        if (options.fake_gpus > 0) {
            fake_ = fake_gpus(
                options.fake_gpus, options.fake_model, identity.machine_id + "/" + identity.name
            );
            return;
        }
        if (auto source = find_gpu_source()) {
            log.info("agent.inventory", {{"source", std::string(source->name())}});
            watch_ = std::make_unique<InventoryWatch>(std::move(source), log);
        }
    }

    // For the first hello and whenever it has changed.
    std::optional<agent_protocol::Inventory> take_changed() {
        auto gpus = watch_ ? watch_->take_changed() : std::exchange(fake_, std::nullopt);
        if (!gpus) {
            return std::nullopt;
        }
        agent_protocol::Inventory inventory = machine_inventory();
        inventory.gpus = *std::move(gpus);
        inventory.driver = watch_ ? watch_->driver() : std::nullopt;
        return inventory;
    }
    std::vector<agent_protocol::GpuEvent> take_events() {
        return watch_ ? watch_->take_events() : std::vector<agent_protocol::GpuEvent>{};
    }

private:
    std::optional<std::vector<agent_protocol::Gpu>> fake_;
    std::unique_ptr<InventoryWatch> watch_;
};

ComputeError error_of(const agent_protocol::Refused& refused) {
    return {
        find_error_code(refused.code).value_or(ErrorCode::InvalidState),
        refused.message,
        ErrorExtra{
            .details = nullptr,
            .log_detail = {},
            .hint = "make a token with nodes.createToken and start the agent with --token-file"}};
}

}  // namespace

void parse_fake_gpus(std::string_view text, AgentOptions& options) {
    const std::size_t colon = text.find(':');
    const std::string_view count = text.substr(0, colon);
    const auto parsed =
        std::from_chars(count.data(), count.data() + count.size(), options.fake_gpus);
    if (colon == std::string_view::npos || colon + 1 == text.size() ||
        parsed.ptr != count.data() + count.size() || parsed.ec != std::errc() ||
        options.fake_gpus < 1 || options.fake_gpus > kMaxFakeGpus) {
        throw invalid_input("--fake-gpus: must be N:MODEL with N from 1 to 16");
    }
    options.fake_model = text.substr(colon + 1);
    if (clean_model(options.fake_model) != options.fake_model) {
        throw invalid_input("--fake-gpus: MODEL has characters that no model name has");
    }
}

void run_agent(const AgentOptions& options, Rng& rng, Log& log) {
    std::filesystem::create_directories(options.data);
    Identity identity = make_identity(options, rng);
    Gpus gpus(options, identity, log);
    Runner runner(options.server, rng, log);
    auto inventory = gpus.take_changed();
    const std::size_t node =
        runner.add(std::move(identity), inventory ? *std::move(inventory) : machine_inventory());
    Session& session = runner.session(node);
    session.set_abilities(machine_abilities());
    std::optional<agent_protocol::Refused> last_word;
    Runner::Hooks hooks;
    hooks.on_live = [&](std::size_t) {
        log.info(
            "agent.joined",
            {{"node_id", *session.identity().node_id},
             {"name", session.identity().name},
             {"epoch", std::to_string(session.epoch())}}
        );
    };
    hooks.on_credential = [&](std::size_t) {
        write_credential(
            credential_path(options), {*session.identity().node_id, *session.identity().credential}
        );
    };
    hooks.on_refused = [&](std::size_t, const agent_protocol::Refused& refused) {
        if (refused.retry_after_ms) {
            return false;
        }
        // A node that was removed may join again with a token.
        if (session.identity().credential && session.identity().token) {
            session.forget_credential();
            return false;
        }
        last_word = refused;
        return true;
    };
    hooks.on_fenced = [&](std::size_t) {
        log.error(
            "agent.fenced",
            {{"name", session.identity().name},
             {"reason", "no answer from the server; nothing may run here until it is back"}}
        );
    };
    hooks.on_round = [&] {
        if (auto changed = gpus.take_changed()) {
            session.set_inventory(*std::move(changed));
        }
        for (agent_protocol::GpuEvent& event : gpus.take_events()) {
            session.report(std::move(event));
        }
        return !options.is_stopping();
    };
    runner.run(hooks);
    if (last_word) {
        throw error_of(*last_word);
    }
}

}  // namespace compute::agent
