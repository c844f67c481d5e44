// Loading: defaults, then the file, then variables, then flags; later wins, and every key is
// checked wherever it comes from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/error.h"

namespace compute::config {

inline constexpr const char* kDefaultFile = "better-compute.toml";

// A value given by a flag of the command line.
struct FlagValue {
    std::string key;   // "listen"
    std::string flag;  // "--listen"
    std::string text;
};

struct ConfigSources {
    std::optional<std::string>
        file;  // --config; else BETTER_COMPUTE_CONFIG, else kDefaultFile when it exists
    std::map<std::string, std::string> environment;  // all variables; those without our prefix are
                                                     // ignored, empty ones count as absent
    std::vector<FlagValue> flags;
};

// Throws INVALID_CONFIG naming origin, key and reason. Reads no file but the configuration.
[[nodiscard]] Config load_config(const ConfigSources& sources);

// Variables that begin with BETTER_COMPUTE_ and mean nothing, as sentences with the nearest known
// one. They stop nothing: wrappers and tests carry variables of their own.
[[nodiscard]] std::vector<std::string> unknown_variables(
    const std::map<std::string, std::string>& environment
);

// `{"listen":{"value":...,"origin":"default"},...}`: every key with its effective value and where
// it came from, secrets masked.
[[nodiscard]] Json effective_config(const Config& config);

// The process's variables.
[[nodiscard]] std::map<std::string, std::string> process_environment();

}  // namespace compute::config
