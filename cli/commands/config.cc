#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "config/deployment_secret.h"
#include "config/load.h"
#include "core/json.h"
#include "crypto/crypto.h"

namespace compute::cli::commands {

namespace {

std::string shown(const Json& value) {
    if (value.is_null()) {
        return "-";
    }
    return value.is_string() ? value.get<std::string>() : dump_json(value);
}

int print_config(const CommonOptions& common, Console& console) {
    config::Config config = common.load();
    config::resolve_secret(config, config::SecretNeed::Optional, crypto::system_rng());
    const Json values = config::effective_config(config);
    if (common.is_json) {
        console.json(values);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& [key, entry] : values.items()) {
        rows.push_back(
            {key,
             printable(shown(entry.at("value"))),
             printable(entry.at("origin").get<std::string>())}
        );
    }
    console.table({"KEY", "VALUE", "ORIGIN"}, rows);
    return kExitOk;
}

int check_config(const CommonOptions& common, Console& console) {
    config::Config config = common.load();
    config::resolve_secret(config, config::SecretNeed::Optional, crypto::system_rng());
    const auto remarks = config::unknown_variables(config::process_environment());
    if (common.is_json) {
        console.json({{"ok", true}, {"remarks", remarks}});
        return kExitOk;
    }
    for (const std::string& remark : remarks) {
        console.note(remark);
    }
    console.line("the configuration is valid");
    return kExitOk;
}

}  // namespace

void define_config(const Definition& definition) {
    const auto common = add_common(definition);
    const auto action = std::make_shared<std::string>("show");
    definition
        .word(
            "ACTION",
            *action,
            {"show", "check"},
            "show prints every key with its value and origin, secrets masked; check only validates"
        )
        ->capture_default_str();
    definition.run([common, action](Console& console) {
        common->apply(console);
        return *action == "check" ? check_config(*common, console) : print_config(*common, console);
    });
}

}  // namespace compute::cli::commands
