// Loads the plugins that the configuration names.
#pragma once

#include <string>
#include <vector>

#include "method/module.h"

namespace compute::daemon {

// The module of each shared object, in order. A plugin stays loaded until the process ends: its
// code stands behind functions that are kept everywhere. Throws INVALID_CONFIG naming the path for
// a file that cannot be loaded, exports no plugin, was built with another ABI or compiler, has a
// malformed id, or brings migrations or event families that are not its own.
[[nodiscard]] std::vector<method::Module> load_plugins(const std::vector<std::string>& paths);

}  // namespace compute::daemon
