// A command of the tool: a row in the table of main.cc and one file under commands/ that defines
// its options and runs it. This header is what such a file needs; how the rows become one parser is
// in app.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace compute::cli {

class Console;

inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;  // a finding or a refusal
inline constexpr int kExitUsage = 2;    // a mistake in the command line

// Runs a command after its options are parsed; returns the exit status. Throws ComputeError for a
// refusal, UsageError for a mistake.
using Runner = std::function<int(Console&)>;

// A mistake in the command line that only the command can see.
class UsageError : public std::runtime_error {
public:
    explicit UsageError(const std::string& message, std::string hint = {})
        : std::runtime_error(message), hint_(std::move(hint)) {}
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

private:
    std::string hint_;
};

using Runners = std::map<const CLI::App*, Runner>;

// One command or subcommand while it is being defined. A value; copies mean the same command.
class Definition {
public:
    Definition(CLI::App& app, Runners& runners) : app_(&app), runners_(&runners) {}

    [[nodiscard]] CLI::App& app() const { return *app_; }
    // A command below this one. `example` is shown by --help, one or more full command lines.
    [[nodiscard]] Definition sub(
        const std::string& name, const std::string& summary, const std::string& example
    ) const;
    void run(Runner runner) const { (*runners_)[app_] = std::move(runner); }

    // An option that may be given several times, one value each; one of `words` when there are any.
    CLI::Option* repeated(
        const std::string& name,
        std::vector<std::string>& into,
        const std::string& meaning,
        const std::vector<std::string>& words = {}
    ) const;
    // An option or a positional that takes one of `words`; a near miss is told.
    CLI::Option* word(
        const std::string& name,
        std::string& into,
        const std::vector<std::string>& words,
        const std::string& meaning
    ) const;
    struct Bounds {
        std::int64_t least;
        std::int64_t most;
    };
    // An option that takes a whole number within `bounds`.
    template <class Number>
    CLI::Option* whole(
        const std::string& name, Number& into, Bounds bounds, const std::string& meaning
    ) const {
        return app_->add_option(name, into, meaning)->type_name("N")->check(within(bounds));
    }

private:
    [[nodiscard]] static CLI::Validator within(Bounds bounds);

    CLI::App* app_;
    Runners* runners_;
};

struct Command {
    std::string name;
    std::string summary;
    std::string example;
    void (*define)(const Definition&);
    bool is_hidden = false;
};

}  // namespace compute::cli
