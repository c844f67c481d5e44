// What can be limited by a quota.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/manifest.h"

namespace compute::capacity {

// Resource name to limit; a resource without an entry has none. `gpuMilli` is the peak at any
// instant, `gpuHoursCommitted` the GPU hours of all claims that are not over.
using Limits = std::map<std::string, std::int64_t>;

inline constexpr const char* kGpuMilli = "gpuMilli";
inline constexpr const char* kGpuHours = "gpuHoursCommitted";

// All resources, in the order they are tested and shown.
[[nodiscard]] const std::vector<std::string>& quota_resources();

[[nodiscard]] schema::Shape limits_shape();

// What a JSON object of the shape says: null takes a limit away, as leaving it out does.
[[nodiscard]] Limits decode_limits(const Json& value);
// INVALID_INPUT for a limit that would never do anything: a model has no volumes and no tunnels.
void check_resources(const Limits& limits, bool is_for_one_model);

}  // namespace compute::capacity
