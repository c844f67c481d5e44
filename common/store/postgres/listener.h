// Hears the notices of other processes on a connection of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/settings.h"

namespace compute::store::postgres {

// Listens already when it returns, unless the server was away: then it connects as soon as that is
// possible and calls `on_notify` with every channel, as after every reconnect.
[[nodiscard]] std::unique_ptr<Listener> make_listener(
    const Settings& settings,
    std::vector<std::string> channels,
    std::function<void(std::string_view)> on_notify,
    Log& log
);

}  // namespace compute::store::postgres
