// The module list: the binary is what stands in modules.cc.
#pragma once

#include <vector>

#include "config/config.h"
#include "method/module.h"
#include "outbox/catalog.h"

namespace compute::daemon {

// Every module built into this binary, lower ones first. A new module is one line in modules.cc.
// `config` is what they are made with (limits, retention, the secret); INVALID_CONFIG when one
// cannot take it.
[[nodiscard]] std::vector<method::Module> built_in_modules(const config::Config& config);

// The built-in ones, then the plugins that `config` names (daemon/plugins.h).
[[nodiscard]] std::vector<method::Module> all_modules(const config::Config& config);

// The built-in migrations, then those of plugins among `modules`.
[[nodiscard]] std::vector<store::Migration> migrations_of(const std::vector<method::Module>& modules
);

// The event families of `modules` and those the configuration adds (`events.extra_events`).
// INVALID_CONFIG for a family that is malformed or declared twice.
[[nodiscard]] outbox::EventCatalog catalog_of(
    const std::vector<method::Module>& modules, const config::Config& config
);

}  // namespace compute::daemon
