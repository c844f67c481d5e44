// The methods of the operator module, one file for each group of them.
#pragma once

#include <string>
#include <vector>

#include "method/module.h"

namespace compute::iam_methods {

[[nodiscard]] std::vector<method::MethodEntry> document_methods();
[[nodiscard]] std::vector<method::MethodEntry> token_methods();
[[nodiscard]] std::vector<method::MethodEntry> confirmation_methods();
[[nodiscard]] std::vector<method::MethodEntry> audit_methods();

// Completes a typed method that is decided on the fleet.
template <class I>
[[nodiscard]] method::MethodEntry on_fleet(
    std::string group, std::string name, std::string action, method::Method<I> method
) {
    method.action = action;
    method.resource = [](const I&) { return method::Resource::fleet(); };
    method::MethodRow row;
    row.action = std::move(action);
    row.resource_type = iam::kFleetType;
    return {
        std::move(group),
        std::move(name),
        method::define_method(std::move(method)),
        std::move(row)};
}

inline constexpr const char* kManage = "compute:iam:manage";
inline constexpr const char* kRead = "compute:iam:read";

}  // namespace compute::iam_methods
