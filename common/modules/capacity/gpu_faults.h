// What an Xid (an error report of NVIDIA's driver) means for the GPU it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace compute::capacity {

// The health an Xid leads to: `missing`, `failed` (needs a reset or service, takes no work) or
// `degraded` (works, is placed last). nullopt: it says something about an application, or nothing
// that an operator must act on.
[[nodiscard]] std::optional<std::string_view> health_after_xid(std::int64_t xid) noexcept;

// Whether `to` is worse than `from`, so that a warning does not hide a failure that came before it.
[[nodiscard]] bool is_worse_health(std::string_view from, std::string_view to) noexcept;

}  // namespace compute::capacity
