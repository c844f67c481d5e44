// The options most commands share: which configuration and database they act on, and how they
// print.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/config.h"
#include "config/load.h"

namespace compute::cli {

struct CommonOptions {
    std::string config_file;
    std::string database;
    bool is_json = false;
    bool is_quiet = false;
    std::vector<config::FlagValue> flags;  // of the command itself, added before load()

    // The configuration: defaults, file, variables, flags. Throws INVALID_CONFIG.
    [[nodiscard]] config::Config load() const;
    // The configuration file that load() reads; empty when it reads none.
    [[nodiscard]] std::string file() const;
    // Follows --quiet.
    void apply(Console& console) const;
};

enum class Prints { Json, Nothing };  // Nothing: no --json

// Adds --config, --database, --quiet and, when the command prints results, --json.
[[nodiscard]] std::shared_ptr<CommonOptions> add_common(
    const Definition& definition, Prints prints = Prints::Json
);
// Adds --json and --quiet alone, for commands that read no configuration.
[[nodiscard]] std::shared_ptr<CommonOptions> add_output(const Definition& definition);

}  // namespace compute::cli
