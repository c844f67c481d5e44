// Runs a program and reads what it prints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace compute::agent {

// Its standard output (at most 1 MiB), when it ends with status 0 in time; else nullopt, and it has
// been killed. The program is looked for in PATH; there is no shell in between.
[[nodiscard]] std::optional<std::string> run_program(
    const std::vector<std::string>& command, std::chrono::milliseconds patience
);

}  // namespace compute::agent
