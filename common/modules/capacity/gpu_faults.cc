// After NVIDIA's catalog, by its column of immediate actions:
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
// Those that ask to restart the application (13, 31, 43, 45, 68, ...) are not in the table.
#include "modules/capacity/gpu_faults.h"

#include <algorithm>
#include <array>

namespace compute::capacity {
namespace {

struct Fault {
    std::int64_t xid;
    std::string_view health;
};

constexpr Fault kFaults[] = {
    {46, "failed"},    // the GPU stopped processing
    {48, "failed"},    // double bit ECC error
    {62, "failed"},    // internal micro-controller halt
    {63, "degraded"},  // a memory row waits for its remapping: reset when convenient
    {64, "failed"},    // remapping a memory row failed
    {74, "failed"},    // NVLink error
    {79, "missing"},   // fallen off the bus
    {92, "degraded"},  // high rate of corrected ECC errors
    {94, "degraded"},  // contained ECC error: the application ends, the GPU wants a reset soon
    {95, "failed"},    // uncontained ECC error
    {109, "failed"},   // context switch time-out
    {110, "failed"},   // security fault
    {119, "failed"},   // no answer from the GPU's system processor
    {120, "failed"},   // error of the GPU's system processor
    {136, "failed"},   // link training failed
    {140, "failed"},   // unrecovered ECC error
    {143, "failed"},   // the GPU could not be initialized
};

constexpr std::array<std::string_view, 4> kByGravity{"healthy", "degraded", "failed", "missing"};

std::ptrdiff_t gravity(std::string_view health) noexcept {
    return std::find(kByGravity.begin(), kByGravity.end(), health) - kByGravity.begin();
}

}  // namespace

std::optional<std::string_view> health_after_xid(std::int64_t xid) noexcept {
    const auto* found = std::find_if(std::begin(kFaults), std::end(kFaults), [&](const Fault& one) {
        return one.xid == xid;
    });
    return found == std::end(kFaults) ? std::nullopt : std::optional(found->health);
}

bool is_worse_health(std::string_view from, std::string_view to) noexcept {
    return gravity(to) > gravity(from);
}

}  // namespace compute::capacity
