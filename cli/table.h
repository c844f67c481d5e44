// The table of commands: one row each, in the order of the help; a row's file under commands/
// defines its options and runs it.
#pragma once

#include <vector>

#include "cli/command.h"

namespace compute::cli {

[[nodiscard]] std::vector<Command> command_table();

}  // namespace compute::cli
