// From the table of commands and an argument list to an exit status.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace compute::cli {

class Console;

// Parses `arguments` (without the program's name) against `commands` and runs what they name.
// Prints help, mistakes and refusals itself; an exception never leaves. Mistakes in the command
// line are told with the nearest known word.
[[nodiscard]] int run_command_line(
    const std::vector<Command>& commands,
    const std::vector<std::string>& arguments,
    Console& console
);

// The same without running anything: what parses ends with success. For tests of the parser.
[[nodiscard]] int parse_for_test(
    const std::vector<Command>& commands,
    const std::vector<std::string>& arguments,
    Console& console
);

// "better-compute webhooks redeliver".
[[nodiscard]] std::string full_name(const CLI::App& app);
// Commands directly below `app` that are not hidden, in the order of the table.
[[nodiscard]] std::vector<const CLI::App*> visible_commands(const CLI::App& app);

}  // namespace compute::cli
