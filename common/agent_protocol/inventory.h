// What an agent finds on its machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "schema/manifest.h"

namespace compute::agent_protocol {

inline constexpr std::size_t kMaxGpus = 16;

struct Gpu {
    std::string uuid;
    std::int64_t index = 0;  // of the slot; stays when a neighbour is gone
    std::string model;
    std::int64_t memory_mib = 0;
    std::string pci_bus_id;
    std::optional<std::int64_t> numa;
    std::optional<std::string> link;  // what connects it to its siblings: "nvlink", "pcie"

    friend bool operator==(const Gpu&, const Gpu&) = default;
};

struct Inventory {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::vector<Gpu> gpus;
    std::optional<std::string> driver;  // version of the GPU driver

    static Inventory decode(const Json& value);
    [[nodiscard]] Json json() const;
};

[[nodiscard]] schema::Shape inventory_shape();
[[nodiscard]] schema::Shape gpus_shape();
[[nodiscard]] std::vector<Gpu> decode_gpus(const Json& value);
[[nodiscard]] Json gpus_json(const std::vector<Gpu>& gpus);
// INVALID_INPUT when two GPUs share a UUID or an index.
void check_gpus(const std::vector<Gpu>& gpus);

// Both sides compute it over the list that is there now; equal lists give equal hashes whatever
// their order.
[[nodiscard]] std::string inventory_hash(const std::vector<Gpu>& gpus);

}  // namespace compute::agent_protocol
