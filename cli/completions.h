// Completion scripts, made from the definitions of the commands.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace compute::cli {

// The script of `shell`: bash, zsh or fish. Byte-stable.
[[nodiscard]] std::string completion_script(const CLI::App& root, std::string_view shell);

}  // namespace compute::cli
