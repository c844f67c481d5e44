#include "cli/app.h"

#include <algorithm>
#include <charconv>

#include "cli/console.h"
#include "cli/help.h"
#include "config/suggest.h"
#include "core/error.h"
#include "core/json.h"

namespace compute::cli {

namespace {

constexpr const char* kProgram = "better-compute";

std::vector<std::string> names_of(const std::vector<const CLI::App*>& apps) {
    std::vector<std::string> names;
    for (const CLI::App* app : apps) {
        names.push_back(app->get_name());
    }
    return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

// The command the arguments reached.
const CLI::App& deepest(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? app : deepest(*chosen.back());
}

std::string help_hint(const CLI::App& app) {
    return "run " + full_name(app) + " --help";
}

int refuse_usage(Console& console, const std::string& message, const std::string& hint) {
    console.error(error_info(ErrorCode::InvalidInput).name, message, hint);
    return kExitUsage;
}

// An argument nothing expects: a mistyped command, a mistyped flag, or one too many.
int refuse_extra(Console& console, const CLI::App& root, const std::string& argument) {
    const CLI::App& app = deepest(root);
    const bool is_flag = argument.size() > 1 && argument.front() == '-';
    const std::string word = is_flag ? argument.substr(0, argument.find('=')) : argument;
    const auto candidates = is_flag ? flags_of(app) : names_of(visible_commands(app));
    const char* kind = is_flag              ? "unknown flag: "
                       : candidates.empty() ? "one argument too many: "
                                            : "unknown command: ";
    const auto nearest = config::find_nearest(word, candidates);
    return refuse_usage(
        console, kind + word, nearest ? "did you mean " + *nearest + "?" : help_hint(app)
    );
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

int run_chosen(const CLI::App& root, const Runners& runners, Console& console) {
    const CLI::App& app = deepest(root);
    const auto runner = runners.find(&app);
    if (runner == runners.end()) {
        const auto names = names_of(visible_commands(app));
        std::string list;
        for (const std::string& name : names) {
            list += (list.empty() ? "" : ", ") + name;
        }
        return refuse_usage(console, full_name(app) + ": needs a command: " + list, help_hint(app));
    }
    return runner->second(console);
}

enum class Then { Run, Stop };

int parse_and(
    Then then,
    CLI::App& root,
    const Runners& runners,
    std::vector<std::string> arguments,
    Console& console
) {
    try {
        // The parser takes them from the back.
        std::reverse(arguments.begin(), arguments.end());
        root.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        console.text(wrap_help(root.help()));
        return kExitOk;
    } catch (const CLI::CallForVersion& version) {
        console.line(version.what());
        return kExitOk;
    } catch (const CLI::ParseError& error) {
        const auto extras = root.remaining(true);
        if (!extras.empty()) {
            return refuse_extra(console, root, extras.front());
        }
        return refuse_usage(console, first_line(error.what()), help_hint(deepest(root)));
    }
    return then == Then::Run ? run_chosen(root, runners, console) : kExitOk;
}

std::string joined(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) {
        list += (list.empty() ? "" : "|") + word;
    }
    return list;
}

std::string footer_of(const std::string& example) {
    std::string footer = "Example:\n";
    std::size_t begin = 0;
    while (begin <= example.size()) {
        const std::size_t end = std::min(example.find('\n', begin), example.size());
        footer += "  " + example.substr(begin, end - begin) + "\n";
        begin = end + 1;
    }
    footer.pop_back();
    return footer;
}

// Without a most of one the parser takes a positional that is named as a command beside its own
// (`webhooks jobs list`) for that command.
void keep_to_one_command(CLI::App& app) {
    app.require_subcommand(0, 1);
}

}  // namespace

std::string full_name(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
    std::vector<const CLI::App*> visible;
    for (const CLI::App* sub : app.get_subcommands({})) {
        if (!sub->get_group().empty()) {
            visible.push_back(sub);
        }
    }
    return visible;
}

Definition Definition::sub(
    const std::string& name, const std::string& summary, const std::string& example
) const {
    // add_subcommand(name) refuses a colon, a ready-made App may carry one.
    auto child = std::make_shared<CLI::App>(summary, name);
    child->set_help_flag("-h,--help", "Shows this help");
    child->footer(footer_of(example));
    keep_to_one_command(*child);
    app_->add_subcommand(child);
    return {*child, *runners_};
}

// The description of a validator would stand in the help beside the type's name, which says it all.
static CLI::Validator one_of(const std::vector<std::string>& words) {
    const auto check = [words](const std::string& value) -> std::string {
        if (std::find(words.begin(), words.end(), value) != words.end()) {
            return {};
        }
        const auto nearest = config::find_nearest(value, words);
        return "must be one of " + joined(words) +
               (nearest ? "; did you mean " + *nearest + "?" : "");
    };
    return {check, ""};
}

CLI::Validator Definition::within(Bounds bounds) {
    const auto check = [bounds](const std::string& value) -> std::string {
        std::int64_t number = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        const bool is_good = error == std::errc() && end == value.data() + value.size() &&
                             number >= bounds.least && number <= bounds.most;
        return is_good ? std::string()
                       : "must be a whole number from " + std::to_string(bounds.least) + " to " +
                             std::to_string(bounds.most);
    };
    return {check, ""};
}

CLI::Option* Definition::repeated(
    const std::string& name,
    std::vector<std::string>& into,
    const std::string& meaning,
    const std::vector<std::string>& words
) const {
    CLI::Option* option = app_->add_option(name, into, meaning);
    option->allow_extra_args(false)->take_all();
    return words.empty() ? option : option->type_name(joined(words))->check(one_of(words));
}

CLI::Option* Definition::word(
    const std::string& name,
    std::string& into,
    const std::vector<std::string>& words,
    const std::string& meaning
) const {
    return app_->add_option(name, into, meaning)->type_name(joined(words))->check(one_of(words));
}

static std::unique_ptr<CLI::App> make_app(const std::vector<Command>& commands, Runners& runners) {
    auto app = std::make_unique<CLI::App>(
        "A control plane for GPU fleets: the daemon and its operators' tool.", kProgram
    );
    app->set_help_flag("-h,--help", "Shows this help");
    keep_to_one_command(*app);
    app->footer("Run better-compute COMMAND --help for the options of a command and an example.");
    const Definition root(*app, runners);
    for (const Command& command : commands) {
        const Definition definition = root.sub(command.name, command.summary, command.example);
        if (command.is_hidden) {
            definition.app().group("");
        }
        command.define(definition);
    }
    return app;
}

static int run_or_parse(
    Then then,
    const std::vector<Command>& commands,
    const std::vector<std::string>& arguments,
    Console& console
) {
    try {
        Runners runners;
        const auto app = make_app(commands, runners);
        if (arguments.empty()) {
            console.note(wrap_help(app->help()));
            return kExitUsage;
        }
        const int status = parse_and(then, *app, runners, arguments, console);
        // A full disk or a closed pipe must not look like success.
        return console.flush() || status != kExitOk ? status : kExitRefused;
    } catch (const UsageError& error) {
        return refuse_usage(console, error.what(), error.hint());
    } catch (const ComputeError& error) {
        const std::string detail =
            error.code() == ErrorCode::InternalError ? error.log_detail() : std::string();
        console.error(
            error_info(error.code()).name,
            detail.empty() ? error.message() : error.message() + " (" + detail + ")",
            error.hint(),
            error.details() == nullptr ? "" : dump_json(*error.details())
        );
    } catch (const std::exception& error) {
        console.error(error_info(ErrorCode::InternalError).name, error.what(), "");
    }
    return kExitRefused;
}

int run_command_line(
    const std::vector<Command>& commands,
    const std::vector<std::string>& arguments,
    Console& console
) {
    return run_or_parse(Then::Run, commands, arguments, console);
}

int parse_for_test(
    const std::vector<Command>& commands,
    const std::vector<std::string>& arguments,
    Console& console
) {
    return run_or_parse(Then::Stop, commands, arguments, console);
}

}  // namespace compute::cli
