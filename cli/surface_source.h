// The registry and catalog of this binary without a database, for what describes the API instead of
// calling it.
#pragma once

#include <map>
#include <string>

#include "config/config.h"
#include "method/registry.h"

namespace compute::cli {

// Every module under `config`, checked as at the start of serve.
[[nodiscard]] method::Registry described_registry(const config::Config& config);

// The reference pages of this binary under the default configuration, by file name.
[[nodiscard]] std::map<std::string, std::string> reference_files();

}  // namespace compute::cli
