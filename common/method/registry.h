// The registry: which method stands behind which path. Filled once at start, then only read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "method/module.h"

namespace compute::method {

struct RegisteredMethod {
    std::string path;  // "pools/create", "plugins/acme/widgets/poke"
    std::string module_id;
    bool is_plugin = false;
    MethodDefinition definition;
    std::optional<MethodRow> row;
};

class Registry {
public:
    // Checks and adds every method of `module`; INVALID_CONFIG naming method and field for a bad definition.
    void add(const Module& module);
    // Probes resource() of every method with a row against the row (a placeholder input made from its schema); INVALID_CONFIG naming the method on a mismatch.
    void initialize() const;

    [[nodiscard]] const RegisteredMethod* find(std::string_view path) const;
    [[nodiscard]] const std::map<std::string, RegisteredMethod, std::less<>>& methods() const noexcept { return methods_; }
    [[nodiscard]] const std::vector<PlannedMethod>& planned() const noexcept { return planned_; }
    // Types that can be decided on: tenant, fleet, and what a module or plugin declared.
    [[nodiscard]] bool has_resource_type(std::string_view type) const;

private:
    void add_method(const Module& module, const MethodEntry& entry);

    std::map<std::string, RegisteredMethod, std::less<>> methods_;
    std::map<std::string, std::string, std::less<>> modules_;  // id -> id
    std::vector<PlannedMethod> planned_;
    std::map<std::string, std::string, std::less<>> resource_types_;  // type -> module
};

}  // namespace compute::method
