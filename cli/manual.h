// Manual pages, made from the definitions of the commands and from the table of configuration keys.
#pragma once

#include <map>
#include <string>

#include "cli/command.h"

namespace compute::cli {

// By file name: better-compute.1, better-compute-serve.1, ..., better-compute.toml.5. Byte-stable.
[[nodiscard]] std::map<std::string, std::string> manual_pages(const CLI::App& root);

}  // namespace compute::cli
