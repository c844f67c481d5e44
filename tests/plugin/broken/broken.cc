// A plugin with a method that would let it pass as another module: it names an action of the pools.
#include <nlohmann/json.hpp>

#include "method/plugin.h"

namespace {

struct Nothing {};

compute::method::Module broken() {
    compute::method::Method<Nothing> method;
    method.action = "compute:pools:read";
    method.resource = [](const Nothing&) { return compute::method::Resource::fleet(); };
    method.validate = [](const compute::Json&) { return Nothing{}; };
    method.handler = [](compute::method::Context&, Nothing&) { return compute::Json::object(); };
    compute::method::Module module;
    module.methods = {{"things", "peek", compute::method::define_method(std::move(method)), std::nullopt}};
    return module;
}

}  // namespace

COMPUTE_PLUGIN("broken", broken)
