// systemd's notification protocol, spoken by hand: datagrams to the socket that NOTIFY_SOCKET
// names. Without one nothing happens.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace compute::daemon {

// Thread-safe.
class ServiceManager {
public:
    // Reads NOTIFY_SOCKET and WATCHDOG_USEC (for this process) from the environment.
    ServiceManager();

    // "READY=1", "STOPPING=1", "RELOADING=1", "STATUS=...". A manager that does not take it is none
    // of our faults.
    void notify(std::string_view state) const noexcept;

    // How often WATCHDOG=1 is due; nullopt: never.
    [[nodiscard]] std::optional<std::chrono::milliseconds> watchdog_interval() const noexcept {
        return watchdog_;
    }

private:
    std::string socket_;
    std::optional<std::chrono::milliseconds> watchdog_;
};

}  // namespace compute::daemon
