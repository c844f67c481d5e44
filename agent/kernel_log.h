// Xids: the driver writes them into the kernel's log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_protocol/inventory.h"
#include "agent_protocol/messages.h"

namespace compute::agent {

struct Xid {
    std::string bus_id;  // "0000:cb:00"
    std::int64_t number = 0;
};
// Of a line like "NVRM: Xid (PCI:0000:cb:00): 79, pid=..., GPU has fallen off the bus."
[[nodiscard]] std::optional<Xid> find_xid(std::string_view line);

// The event about the GPU at that place; nullopt when none is known there.
[[nodiscard]] std::optional<agent_protocol::GpuEvent> event_of(
    const Xid& xid, const std::vector<agent_protocol::Gpu>& gpus
);

// Follows /dev/kmsg from now on. Not being allowed to read it is no fault: the count of GPUs is the
// primary signal.
class KernelLog {
public:
    KernelLog();
    ~KernelLog();
    KernelLog(const KernelLog&) = delete;
    KernelLog& operator=(const KernelLog&) = delete;

    // What has been written since the last call; never waits.
    [[nodiscard]] std::vector<Xid> read();

private:
    int fd_ = -1;
};

}  // namespace compute::agent
