#include "config/load.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "config/checks.h"
#include "config/keys.h"
#include "config/suggest.h"
#include "config/toml_file.h"

namespace compute::config {

namespace {

constexpr std::string_view kPrefix = "BETTER_COMPUTE_";

// Variables that are no configuration key.
constexpr const char* kOtherVariables[] = {
    "BETTER_COMPUTE_CONFIG",
    "BETTER_COMPUTE_URL",
    "BETTER_COMPUTE_TOKEN",
    "BETTER_COMPUTE_TEST_POSTGRES"};

std::optional<std::string> find_variable(const ConfigSources& sources, const std::string& name) {
    const auto found = sources.environment.find(name);
    if (found == sources.environment.end() || found->second.empty()) {
        return std::nullopt;
    }
    return found->second;
}

void apply(Config& config, const Key& key, const Json& value, const std::string& origin) {
    if (const Problem problem = key.set(config, value)) {
        throw invalid_config(origin + ": " + key.name + ": " + *problem);
    }
    config.origins[key.name] = origin;
}

void apply_text(
    Config& config, const Key& key, const std::string& text, const std::string& origin
) {
    const auto value = find_value_of_text(key, text);
    // What has not even the form of the type is told by the key's own words.
    apply(config, key, value ? *value : Json(), origin);
}

void apply_file(Config& config, const ConfigSources& sources) {
    auto path = sources.file ? sources.file : find_variable(sources, "BETTER_COMPUTE_CONFIG");
    std::error_code error;
    if (!path) {
        if (!std::filesystem::exists(kDefaultFile, error)) {
            return;
        }
        path = kDefaultFile;
    }
    for (const Setting& setting : read_toml_file(*path)) {
        apply(config, *find_key(setting.key), *setting.value, setting.origin);
    }
}

void apply_environment(Config& config, const ConfigSources& sources) {
    for (const Key& key : keys()) {
        const std::string variable = variable_of(key);
        if (variable.empty()) {
            continue;
        }
        if (const auto text = find_variable(sources, variable)) {
            apply_text(config, key, *text, variable);
        }
    }
}

void apply_flags(Config& config, const ConfigSources& sources) {
    for (const FlagValue& flag : sources.flags) {
        if (flag.key == "database.url" && has_password(flag.text)) {
            // Command lines are seen by every user of the host.
            throw invalid_config(
                flag.flag + ": must not carry a password",
                "put it into BETTER_COMPUTE_DATABASE_URL, the configuration file or PGPASSFILE"
            );
        }
        const Key* key = find_key(flag.key);
        if (key == nullptr) {
            throw internal_error("flag " + flag.flag + " sets the unknown key " + flag.key);
        }
        apply_text(config, *key, flag.text, flag.flag);
    }
}

[[noreturn]] void refuse(const Config& config, const std::string& key, const std::string& reason) {
    const auto origin = config.origins.find(key);
    throw invalid_config(
        (origin == config.origins.end() ? "" : origin->second + ": ") + key + ": " + reason
    );
}

// What no key can judge alone.
void check_together(const Config& config) {
    if (config.tls.cert.empty() != config.tls.key.empty()) {
        const bool has_cert = !config.tls.cert.empty();
        refuse(
            config,
            has_cert ? "tls.cert" : "tls.key",
            std::string("needs ") + (has_cert ? "tls.key" : "tls.cert") + " as well"
        );
    }
    if (config.iam.mode == "better-iam" && config.iam.better_iam.url.empty()) {
        refuse(config, "iam.mode", "better-iam needs iam.better_iam.url");
    }
    if (!config.admin_listen.empty() && config.admin_listen == config.listen &&
        !config.listen.ends_with(":0")) {
        refuse(config, "admin_listen", "must differ from listen");
    }
}

}  // namespace

Config load_config(const ConfigSources& sources) {
    Config config;
    apply_file(config, sources);
    apply_environment(config, sources);
    apply_flags(config, sources);
    check_together(config);
    for (const Key& key : keys()) {
        config.origins.try_emplace(key.name, "default");
    }
    return config;
}

std::vector<std::string> unknown_variables(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> known(std::begin(kOtherVariables), std::end(kOtherVariables));
    for (const Key& key : keys()) {
        if (std::string variable = variable_of(key); !variable.empty()) {
            known.push_back(std::move(variable));
        }
    }
    std::vector<std::string> out;
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kPrefix) ||
            std::find(known.begin(), known.end(), name) != known.end()) {
            continue;
        }
        const auto nearest = find_nearest(name, known);
        out.push_back(
            name + " means nothing" + (nearest ? "; did you mean " + *nearest + "?" : "")
        );
    }
    return out;
}

Json effective_config(const Config& config) {
    Json out = Json::object();
    for (const Key& key : keys()) {
        const auto origin = config.origins.find(key.name);
        out[key.name] = {
            {"value", key.get(config)},
            {"origin", origin == config.origins.end() ? "default" : origin->second}};
    }
    return out;
}

std::map<std::string, std::string> process_environment() {
    std::map<std::string, std::string> out;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos) {
            out.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return out;
}

}  // namespace compute::config
