// Reading the TOML file: the one place that knows the TOML library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

namespace compute::config {

// One value of the file, before it is checked.
struct Setting {
    std::string key;     // "events.delivery.limit"
    std::string origin;  // "better-compute.toml:12"
    std::shared_ptr<const Json> value;
};

// The settings of the file in its order, each under its longest known key. Throws INVALID_CONFIG
// naming file and line for what is no TOML, an unknown key (with the nearest known one as the
// hint), a date, or a file that cannot be read or is over 1 MiB.
[[nodiscard]] std::vector<Setting> read_toml_file(const std::string& path);

}  // namespace compute::config
