#include "cli/manual.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/introspect.h"
#include "cli/version.h"
#include "config/keys.h"
#include "config/load.h"
#include "core/json.h"

namespace compute::cli {

namespace {

// Text for roff: hyphens that stay hyphens, no accidental requests or escapes.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
            out += std::string("\\&") + c;
        } else {
            out.push_back(c);
        }
    }
    return out;
}

std::string dashed(std::string text) {
    std::replace(text.begin(), text.end(), ' ', '-');
    // A colon in a file name troubles manual readers.
    std::replace(text.begin(), text.end(), ':', '-');
    return text;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return text;
}

std::string head(
    const std::string& page, int section, const std::string& name, const std::string& summary
) {
    return ".\\\" Made by `better-compute generate man`; do not edit.\n.TH " + roff(upper(page)) +
           " " + std::to_string(section) + " \"\" \"better\\-compute " + version().number +
           "\" \"Better Compute\"\n.SH NAME\n" + roff(name) + " \\- " + roff(summary) + "\n";
}

std::string synopsis_of(const CLI::App& app) {
    std::string line = ".B " + roff(full_name(app)) + "\n";
    if (!visible_commands(app).empty()) {
        return line + ".I COMMAND\n";
    }
    for (const OptionFacts& positional : positionals_of(app)) {
        const std::string name = roff(positional.name) + (positional.is_repeated ? "..." : "");
        line += positional.is_required ? ".I " + name + "\n" : ".RI [ " + name + " ]\n";
    }
    return line + "[options]\n";
}

std::string options_section(const CLI::App& app) {
    std::string out;
    for (const OptionFacts& positional : positionals_of(app)) {
        out += ".TP\n.I " + roff(positional.name) + "\n" + roff(positional.meaning) + "." +
               (positional.words.empty() ? "" : " One of: " + roff(positional.value) + ".") + "\n";
    }
    for (const OptionFacts& option : options_of(app)) {
        out += ".TP\n.B " + roff(option.flags) +
               (option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR") + "\n" +
               roff(option.meaning) + "." +
               (option.is_repeated ? " May be given several times." : "") + "\n";
    }
    return out;
}

std::string examples_section(const CLI::App& app) {
    std::string out = ".SH EXAMPLES\n.nf\n";
    for (const std::string& line : examples_of(app)) {
        out += roff(line) + "\n";
    }
    return out + ".fi\n";
}

// A command with everything below it: one page per row of the table.
std::string command_page(const CLI::App& app) {
    const std::string name = dashed(full_name(app));
    std::string out = head(name, 1, name, app.get_description());
    out += ".SH SYNOPSIS\n" + synopsis_of(app);
    const auto below = all_commands(app);
    if (below.empty()) {
        out += ".SH OPTIONS\n" + options_section(app);
    }
    for (const CLI::App* sub : below) {
        if (visible_commands(*sub).empty()) {
            out += ".SH " + roff(upper(full_name(*sub).substr(full_name(app).size() + 1))) + "\n" +
                   roff(sub->get_description()) + ".\n.PP\n" + synopsis_of(*sub) + ".PP\n" +
                   options_section(*sub);
            out += ".PP\nExample:\n.nf\n";
            for (const std::string& line : examples_of(*sub)) {
                out += roff(line) + "\n";
            }
            out += ".fi\n";
        }
    }
    out += examples_section(app);
    out +=
        ".SH EXIT STATUS\n0 for success, 1 for a finding or a refusal, 2 for a mistake in the "
        "command line.\n";
    return out + ".SH SEE ALSO\n.BR better\\-compute (1),\n.BR better\\-compute.toml (5)\n";
}

std::string overview_page(const CLI::App& root) {
    std::string out = head("better-compute", 1, "better-compute", root.get_description());
    out += ".SH SYNOPSIS\n.B better\\-compute\n.I COMMAND\n[options]\n.SH COMMANDS\n";
    for (const CLI::App* app : visible_commands(root)) {
        out += ".TP\n.BR " + roff(dashed(full_name(*app))) + " (1)\n" +
               roff(app->get_description()) + ".\n";
    }
    out += ".SH ENVIRONMENT\n";
    const std::pair<const char*, const char*> variables[] = {
        {"BETTER_COMPUTE_CONFIG", "The configuration file."},
        {"BETTER_COMPUTE_URL", "Where api calls, instead of the local database."},
        {"BETTER_COMPUTE_TOKEN", "As whom token commands call; a token is never a flag."},
        {"NO_COLOR", "When set, no colour is used."},
    };
    for (const auto& [name, meaning] : variables) {
        out += ".TP\n.B " + roff(name) + "\n" + roff(meaning) + "\n";
    }
    out +=
        ".PP\nEach configuration key has a variable of its own, listed in\n.BR "
        "better\\-compute.toml (5).\n";
    out +=
        ".SH EXIT STATUS\n0 for success, 1 for a finding or a refusal, 2 for a mistake in the "
        "command line.\n";
    return out + ".SH SEE ALSO\n.BR better\\-compute.toml (5)\n";
}

std::string configuration_page() {
    const Json defaults = config::effective_config(config::Config{});
    std::string out =
        head("better-compute.toml", 5, "better-compute.toml", "configuration of better-compute");
    out += ".SH DESCRIPTION\n" +
           roff(
               "TOML, read from --config, else BETTER_COMPUTE_CONFIG, else ./better-compute.toml "
               "when it exists. Each key's variable wins over the "
               "file, and a flag over both. An unknown key or an impossible value stops every "
               "command, naming key and line. "
               "In a variable a list is separated by commas, and 1 and 0 stand for true and false."
           ) +
           "\n.SH KEYS\n";
    for (const config::Key& key : config::keys()) {
        const Json& value = defaults.at(key.name).at("value");
        out += ".TP\n.B " + roff(key.name) +
               (key.range.empty() ? "" : " \\fR(" + roff(key.range) + ")") + "\n" +
               roff(key.meaning);
        if (!value.is_null()) {
            out += " Default: " + roff(dump_json(value)) + ".";
        }
        const std::string variable = config::variable_of(key);
        out += variable.empty() ? "\n" : "\n.br\nVariable: " + roff(variable) + "\n";
    }
    return out + ".SH SEE ALSO\n.BR better\\-compute (1)\n";
}

}  // namespace

std::map<std::string, std::string> manual_pages(const CLI::App& root) {
    std::map<std::string, std::string> pages;
    pages["better-compute.1"] = overview_page(root);
    pages["better-compute.toml.5"] = configuration_page();
    for (const CLI::App* app : visible_commands(root)) {
        pages[dashed(full_name(*app)) + ".1"] = command_page(*app);
    }
    return pages;
}

}  // namespace compute::cli
