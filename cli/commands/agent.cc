#include "agent/agent.h"

#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "core/json.h"
#include "core/log.h"
#include "crypto/crypto.h"

namespace compute::cli::commands {

namespace {

struct AgentFlags {
    std::string url;
    std::string token_file;
    std::string credential_file;
    std::string data = "better-compute-agent";
    std::string name;
    std::string fake_gpus;
    std::string simulate;
    std::string ca_file;
};

std::string text_of_variable(const char* name) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return text != nullptr ? text : "";
}

// The API's address with its path.
std::string base_of(std::string url, const config::Config& config) {
    while (url.ends_with('/')) {
        url.pop_back();
    }
    const std::size_t scheme = url.find("://");
    if (scheme == std::string::npos) {
        return url;
    }
    return url.find('/', scheme + 3) == std::string::npos ? url + config.base_path : url;
}

void check_flags(const AgentFlags& flags) {
    if (flags.url.empty()) {
        throw UsageError("--url: Required", "or set BETTER_COMPUTE_URL");
    }
    if (!flags.simulate.empty()) {
        if (!flags.token_file.empty() || !flags.credential_file.empty() ||
            !flags.fake_gpus.empty() || !flags.name.empty()) {
            throw UsageError("--simulate: stands alone; its nodes are the document's");
        }
        return;
    }
    if (flags.token_file.empty() == flags.credential_file.empty()) {
        throw UsageError("give either --token-file or --credential-file, or --simulate");
    }
}

void simulate(
    const AgentFlags& flags, const agent::Server& server, const config::Config& config, Log& log
) {
    const crypto::Secret token(text_of_variable("BETTER_COMPUTE_TOKEN"));
    if (token.empty()) {
        throw UsageError("--simulate: BETTER_COMPUTE_TOKEN is not set");
    }
    Client client(flags.url, config, token);
    agent::SimulateOptions options;
    options.server = server;
    options.document = read_json_file(flags.simulate, "better-compute fleet export writes one");
    options.call = [&](const std::string& path, const Json& input) {
        return client.call(path, input);
    };
    // At once, not at the end like other commands' results: whoever started it waits for this line.
    options.print = [](std::string_view line) {
        std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
        std::fflush(stdout);
    };
    options.input_fd = STDIN_FILENO;
    options.is_stopping = is_interrupted;
    agent::run_simulation(options, crypto::system_rng(), log);
}

int run(CommonOptions& common, AgentFlags flags, Console& console) {
    common.apply(console);
    if (flags.url.empty()) {
        flags.url = text_of_variable("BETTER_COMPUTE_URL");
    }
    check_flags(flags);
    const config::Config config = common.load();
    agent::AgentOptions options;
    options.server = agent::make_server(base_of(flags.url, config), flags.ca_file);
    if (!flags.fake_gpus.empty()) {
        agent::parse_fake_gpus(flags.fake_gpus, options);
    }
    watch_interrupts();
    const auto log =
        make_stderr_log(common.is_quiet ? LogLevel::Warning : LogLevel::Info, LogFormat::Text);
    if (!flags.simulate.empty()) {
        simulate(flags, options.server, config, *log);
        return kExitOk;
    }
    options.token_file = flags.token_file;
    options.credential_file = flags.credential_file;
    options.data = flags.data;
    options.name = flags.name;
    options.is_stopping = is_interrupted;
    agent::run_agent(options, crypto::system_rng(), *log);
    return kExitOk;
}

}  // namespace

void define_agent(const Definition& definition) {
    const auto common = add_common(definition, Prints::Nothing);
    const auto flags = std::make_shared<AgentFlags>();
    CLI::App& app = definition.app();
    app.add_option("--url", flags->url, "Where the server is; default BETTER_COMPUTE_URL")
        ->type_name("URL");
    app.add_option(
           "--token-file", flags->token_file, "File with a token of nodes.createToken, to join with"
    )
        ->type_name("FILE");
    app.add_option(
           "--credential-file",
           flags->credential_file,
           "File with the credential of a node that has joined"
    )
        ->type_name("FILE");
    app.add_option("--data", flags->data, "Folder where the credential is kept, mode 0600")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("--name", flags->name, "Name to join under; default the host's")
        ->type_name("NAME");
    app.add_option(
           "--fake-gpus", flags->fake_gpus, "Reports N GPUs of MODEL instead of the machine's"
    )
        ->type_name("N:MODEL");
    app.add_option(
           "--simulate",
           flags->simulate,
           "Speaks for every node of a fleet document; takes drop, pull, return, skew and quit on "
           "standard input"
    )
        ->type_name("FILE");
    app.add_option("--ca-file", flags->ca_file, "PEM file with the authorities to trust for https")
        ->type_name("FILE");
    definition.run([common, flags](Console& console) { return run(*common, *flags, console); });
}

}  // namespace compute::cli::commands
