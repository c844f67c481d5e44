// What a definition says about itself: the one reader of CLI11's own structures for manual pages
// and completions.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace compute::cli {

struct OptionFacts {
    std::string flags;                    // "-h, --help"; empty for a positional
    std::vector<std::string> long_names;  // "--json"
    std::string name;                     // of a positional: "ACTION"
    std::string value;                    // "FILE"; empty for a flag
    std::vector<std::string> words;       // the values it takes, when those are listed
    std::string meaning;
    bool is_required = false;
    bool is_repeated = false;
};

[[nodiscard]] std::vector<OptionFacts> options_of(const CLI::App& app);
[[nodiscard]] std::vector<OptionFacts> positionals_of(const CLI::App& app);
// The command lines of the example, without the heading.
[[nodiscard]] std::vector<std::string> examples_of(const CLI::App& app);
// Every command below `root` that is not hidden, parents first.
[[nodiscard]] std::vector<const CLI::App*> all_commands(const CLI::App& root);

}  // namespace compute::cli
