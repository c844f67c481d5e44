#include "cli/version.h"

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "config/load.h"

namespace compute::cli::commands {

namespace {

// A broken configuration must not keep anybody from learning the version.
Json plugin_ids() {
    Json ids = Json::array();
    try {
        config::ConfigSources sources;
        sources.environment = config::process_environment();
        for (const method::Module& module : all_modules(config::load_config(sources))) {
            if (module.is_plugin) {
                ids.push_back(module.id);
            }
        }
    } catch (const ComputeError&) {
        return Json::array();
    }
    return ids;
}

int print_version(const CommonOptions& options, Console& console) {
    const Version own = version();
    const Json plugins = plugin_ids();
    if (options.is_json) {
        console.json(
            {{"version", own.number},
             {"commit", own.commit},
             {"engines", {"sqlite", "postgres"}},
             {"plugins", plugins}}
        );
    } else {
        console.line(
            "better-compute " + own.number + " (" + own.commit + "), engines sqlite and postgres"
        );
    }
    return kExitOk;
}

}  // namespace

void define_version(const Definition& definition) {
    const auto options = add_output(definition);
    definition.run([options](Console& console) { return print_version(*options, console); });
}

}  // namespace compute::cli::commands
