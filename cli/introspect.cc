#include "cli/introspect.h"

#include <algorithm>
#include <sstream>

#include "cli/app.h"

namespace compute::cli {

namespace {

OptionFacts facts_of(const CLI::Option& option) {
    OptionFacts facts;
    for (const std::string& name : option.get_snames()) {
        facts.flags += (facts.flags.empty() ? "-" : ", -") + name;
    }
    for (const std::string& name : option.get_lnames()) {
        facts.flags += (facts.flags.empty() ? "--" : ", --") + name;
        facts.long_names.push_back("--" + name);
    }
    if (option.get_positional()) {
        facts.name = option.get_name(true);
    }
    // A flag takes no value.
    if (option.get_type_size_max() != 0) {
        facts.value = option.get_type_name();
        if (facts.value.find('|') != std::string::npos) {
            std::istringstream words(facts.value);
            for (std::string word; std::getline(words, word, '|');) {
                facts.words.push_back(word);
            }
        }
    }
    facts.meaning = option.get_description();
    facts.is_required = option.get_required();
    facts.is_repeated = option.get_expected_max() > 1;
    return facts;
}

std::vector<OptionFacts> facts_where(const CLI::App& app, bool is_positional) {
    std::vector<OptionFacts> out;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional() == is_positional && !option->get_group().empty()) {
            out.push_back(facts_of(*option));
        }
    }
    return out;
}

}  // namespace

std::vector<OptionFacts> options_of(const CLI::App& app) {
    return facts_where(app, false);
}

std::vector<OptionFacts> positionals_of(const CLI::App& app) {
    return facts_where(app, true);
}

std::vector<std::string> examples_of(const CLI::App& app) {
    std::vector<std::string> out;
    std::istringstream lines(app.get_footer());
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  ")) {
            out.push_back(line.substr(2));
        }
    }
    return out;
}

std::vector<const CLI::App*> all_commands(const CLI::App& root) {
    std::vector<const CLI::App*> out;
    for (const CLI::App* app : visible_commands(root)) {
        out.push_back(app);
        const auto below = all_commands(*app);
        out.insert(out.end(), below.begin(), below.end());
    }
    return out;
}

}  // namespace compute::cli
