// Where an agent learns of the GPUs of its machine: the driver's library, else its command, else
// what the kernel module shows under /proc. The first that works is kept.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_protocol/inventory.h"

namespace compute::agent {

// Used by one thread; read() may hang with a broken driver, so that is not the thread of
// heartbeats.
class GpuSource {
public:
    virtual ~GpuSource() = default;
    // The GPUs that answer. One that does not is left out: that is how it goes missing. Throws
    // INVALID_STATE when nothing can be said, which is no inventory at all.
    virtual std::vector<agent_protocol::Gpu> read() = 0;
    [[nodiscard]] virtual std::optional<std::string> driver() = 0;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
};

struct SourcePlaces {
    std::string nvml = "libnvidia-ml.so.1";
    std::string smi = "nvidia-smi";
    std::string proc = "/proc/driver/nvidia";
};

// Null when the machine has none of them: it has no GPUs.
[[nodiscard]] std::unique_ptr<GpuSource> find_gpu_source(const SourcePlaces& places = {});

// One source each; null when it is not there.
[[nodiscard]] std::unique_ptr<GpuSource> open_nvml(const std::string& library);
[[nodiscard]] std::unique_ptr<GpuSource> open_smi(const std::string& program);
[[nodiscard]] std::unique_ptr<GpuSource> open_proc(const std::string& folder);

// `count` GPUs that are not there, for trying out; `seed` makes their UUIDs.
[[nodiscard]] std::vector<agent_protocol::Gpu> fake_gpus(
    std::int64_t count, const std::string& model, const std::string& seed
);

// A name as the protocol takes it.
[[nodiscard]] std::string clean_model(std::string_view name);
// "00000000:CB:00.0" and "0000:cb:00.0" as "0000:cb:00.0".
[[nodiscard]] std::string clean_bus_id(std::string_view bus_id);
// Of the PCI device, as the kernel says.
[[nodiscard]] std::optional<std::int64_t> find_numa(const std::string& bus_id);

}  // namespace compute::agent
