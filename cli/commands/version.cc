#include "cli/version.h"

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "daemon/modules.h"

namespace compute::cli::commands {

namespace {

int print_version(const CommonOptions& options, Console& console) {
    const Version own = version();
    Json plugins = Json::array();
    for (const method::Module& module : daemon::built_in_modules()) {
        if (module.is_plugin) {
            plugins.push_back(module.id);
        }
    }
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
