// What /metrics says, in Prometheus's text format: calls by method and code, the HTTP server, the
// database, and the gauges the modules offer. Collected when asked.
#pragma once

#include <functional>
#include <string>

#include "daemon/compute.h"
#include "daemon/http/server.h"

namespace compute::daemon {

// Thread-safe when `compute` and `server_stats` are. A gauge that cannot be collected is left out
// and logged.
[[nodiscard]] std::string metrics_text(
    Compute& compute, const std::function<http::ServerStats()>& server_stats
);

}  // namespace compute::daemon
