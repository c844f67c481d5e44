#include "capacity/quota_limits.h"

#include <nlohmann/json.hpp>

namespace compute::capacity {

const std::vector<std::string>& quota_resources() {
    static const std::vector<std::string> kResources{
        kGpuMilli, kGpuHours, "reservations", "instances", "sandboxes", "volumeMib", "tunnels"};
    return kResources;
}

schema::Shape limits_shape() {
    constexpr std::int64_t kMaxLimit = 1'000'000'000;
    std::vector<schema::Field> fields;
    for (const std::string& resource : quota_resources()) {
        fields.push_back(
            {resource, schema::integer({.min = 0, .max = kMaxLimit}).nullable(), false, ""}
        );
    }
    return schema::object(std::move(fields));
}

Limits decode_limits(const Json& value) {
    Limits limits;
    for (const auto& [resource, limit] : value.items()) {
        if (!limit.is_null()) {
            limits.emplace(resource, limit.get<std::int64_t>());
        }
    }
    return limits;
}

void check_resources(const Limits& limits, bool is_for_one_model) {
    for (const char* resource : {"volumeMib", "tunnels"}) {
        if (is_for_one_model && limits.contains(resource)) {
            throw invalid_input(
                "limits." + std::string(resource) + ": cannot be limited for one gpuModel"
            );
        }
    }
}

}  // namespace compute::capacity
