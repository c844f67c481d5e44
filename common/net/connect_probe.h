// Connecting to a receiver without sending it anything: TCP, and TLS where the URL has it, as a
// delivery would.
#pragma once

#include <chrono>
#include <string>

#include "net/address.h"
#include "net/url.h"

namespace compute::net {

struct ProbeResult {
    std::string
        error;  // what went wrong, in the words a delivery would use; empty when it is connected
    double connect_ms = 0;
    double tls_ms = 0;  // 0 without TLS
    [[nodiscard]] bool is_connected() const noexcept { return error.empty(); }
};

// Connects to `address`, which the caller has judged, under the name of `url`, and closes again.
// Blocks at most `timeout`. INVALID_CONFIG when `ca_file` cannot be read; empty means the system's
// bundle.
[[nodiscard]] ProbeResult probe_connection(
    const Url& url,
    const IpAddress& address,
    const std::string& ca_file,
    std::chrono::milliseconds timeout
);

}  // namespace compute::net
