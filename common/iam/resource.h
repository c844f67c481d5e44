// What a decision is about.
#pragma once

#include <string>

namespace compute::iam {

// A thing by type and id: {"pool", "pool_01..."}. With the IAM's prefix the type is "compute-pool".
struct ResourceRef {
    std::string type;
    std::string id;

    friend bool operator==(const ResourceRef&, const ResourceRef&) = default;
};

inline constexpr const char* kFleetType = "fleet";
inline constexpr const char* kFleetId = "global";

}  // namespace compute::iam
