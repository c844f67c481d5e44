#include "cli/options.h"

#include <filesystem>

#include "cli/console.h"

namespace compute::cli {

namespace {

config::ConfigSources sources_of(const CommonOptions& options) {
    config::ConfigSources sources;
    if (!options.config_file.empty()) {
        sources.file = options.config_file;
    }
    sources.environment = config::process_environment();
    if (!options.database.empty()) {
        sources.flags.push_back({"database.url", "--database", options.database});
    }
    sources.flags.insert(sources.flags.end(), options.flags.begin(), options.flags.end());
    return sources;
}

}  // namespace

config::Config CommonOptions::load() const {
    return config::load_config(sources_of(*this));
}

std::string CommonOptions::file() const {
    if (!config_file.empty()) {
        return config_file;
    }
    const auto environment = config::process_environment();
    if (const auto found = environment.find("BETTER_COMPUTE_CONFIG");
        found != environment.end() && !found->second.empty()) {
        return found->second;
    }
    std::error_code error;
    return std::filesystem::exists(config::kDefaultFile, error) ? config::kDefaultFile : "";
}

void CommonOptions::apply(Console& console) const {
    if (is_quiet) {
        console.be_quiet();
    }
}

std::shared_ptr<CommonOptions> add_output(const Definition& definition) {
    auto options = std::make_shared<CommonOptions>();
    definition.app().add_flag("--json", options->is_json, "Prints the result as one line of JSON");
    definition.app().add_flag(
        "--quiet", options->is_quiet, "No remarks and no progress on standard error"
    );
    return options;
}

std::shared_ptr<CommonOptions> add_common(const Definition& definition, Prints prints) {
    auto options = std::make_shared<CommonOptions>();
    CLI::App& app = definition.app();
    app.add_option(
           "--config",
           options->config_file,
           "The configuration file; else BETTER_COMPUTE_CONFIG, else ./better-compute.toml"
    )
        ->type_name("FILE");
    app.add_option(
           "--database",
           options->database,
           "The database: sqlite:PATH, PATH.db or postgres://...; never with a password"
    )
        ->type_name("URL");
    if (prints == Prints::Json) {
        app.add_flag("--json", options->is_json, "Prints the result as one line of JSON");
    }
    app.add_flag("--quiet", options->is_quiet, "No remarks and no progress on standard error");
    return options;
}

}  // namespace compute::cli
