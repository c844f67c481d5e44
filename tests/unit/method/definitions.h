// The smallest methods and modules that register.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "method/module.h"
#include "method/registry.h"

namespace compute::method {

struct Nothing {};

// Decided as `action` on {type, "x-1"}; its schema knows no field.
[[nodiscard]] inline Method<Nothing> deciding(std::string action, std::string type) {
    Method<Nothing> method;
    method.action = std::move(action);
    method.kind = Kind::Mutation;
    method.resource = [type = std::move(type)](const Nothing&) -> std::optional<Resource> {
        return Resource{type, "x-1", std::nullopt};
    };
    method.input(schema::Manifest<Nothing>());
    method.handler = [](Context&, Nothing&) { return Json(); };
    return method;
}

[[nodiscard]] inline MethodRow row_of(std::string action, std::string type) {
    MethodRow row;
    row.action = std::move(action);
    row.resource_type = std::move(type);
    return row;
}

[[nodiscard]] inline MethodEntry entry_of(
    Method<Nothing> method, std::optional<MethodRow> row = {}
) {
    return {"pools", "get", define_method(std::move(method)), std::move(row)};
}

[[nodiscard]] inline Module module_of(std::vector<MethodEntry> methods) {
    Module module;
    module.id = "lab";
    module.resource_types = {"pool", "node"};
    module.methods = std::move(methods);
    return module;
}

}  // namespace compute::method
