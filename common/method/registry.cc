#include "method/registry.h"

#include <utility>

#include <re2/re2.h>

#include "method/probe.h"

namespace compute::method {
namespace {

constexpr const char* kActionPattern = "^compute:[a-z][a-z0-9-]{0,63}:[a-z][a-z0-9-]{0,63}$";
constexpr const char* kModulePattern = "^[a-z][a-z0-9-]{0,63}$";
constexpr const char* kWordPattern = "^[a-z][A-Za-z0-9]{0,63}$";
constexpr const char* kTypePattern = "^[a-z][a-z0-9-]{0,62}$";

bool matches(const std::string& text, const char* pattern) {
    return RE2::PartialMatch(text, pattern);
}

[[noreturn]] void refuse(
    const std::string& path, const std::string& field, const std::string& reason
) {
    throw invalid_config("method " + path + ": " + field + ": " + reason);
}

void check_functions(const std::string& path, const MethodDefinition& definition) {
    if (!definition.resource) {
        refuse(path, "resource", "must be a function");
    }
    if (!definition.validate) {
        refuse(path, "validate", "must be a function");
    }
    if (!definition.handler) {
        refuse(path, "handler", "must be a function");
    }
}

void check_action(
    const std::string& path, const Module& module, const MethodDefinition& definition
) {
    if (definition.kind == Kind::Public) {
        if (definition.action) {
            refuse(path, "action", "a public method has none");
        }
        return;
    }
    if (!definition.action) {
        refuse(path, "action", "is required unless the method is public");
    }
    if (definition.action->size() > 160 || !matches(*definition.action, kActionPattern)) {
        refuse(path, "action", "must match " + std::string(kActionPattern));
    }
    const std::string own = "compute:" + module.id + ":";
    if (module.is_plugin && !definition.action->starts_with(own)) {
        refuse(path, "action", "a plugin's must start with " + own);
    }
}

void check_options(const std::string& path, const MethodDefinition& definition) {
    const bool is_mutation = definition.kind == Kind::Mutation;
    const bool is_manual = definition.transaction == TransactionMode::Manual;
    if (definition.admission) {
        if (!is_mutation) {
            refuse(path, "admission", "only mutations take one");
        }
        if (is_manual) {
            refuse(path, "admission", "cannot be combined with a manual transaction");
        }
        if (!definition.admission->prepare) {
            refuse(path, "admission.prepare", "must be a function");
        }
        if (definition.admission->prepares == Prepares::Lookup && definition.admission->denied) {
            refuse(path, "admission.denied", "there is no draft when prepare is a look-up");
        }
    }
    if (is_manual && !is_mutation) {
        refuse(path, "transaction", "only mutations can be manual");
    }
    if (definition.poll) {
        if (!is_mutation) {
            refuse(path, "poll", "only mutations take one");
        }
        if (!definition.poll->done) {
            refuse(path, "poll.done", "must be a function");
        }
        if (!definition.poll->refresh) {
            refuse(path, "poll.refresh", "must be a function");
        }
    }
}

void check_row(const std::string& path, const Module& module, const MethodEntry& entry) {
    if (!entry.row) {
        return;
    }
    if (module.is_plugin) {
        refuse(path, "row", "a plugin's method has no row in the method table");
    }
    if (entry.definition.action != entry.row->action) {
        refuse(path, "action", "the method table says " + entry.row->action);
    }
}

void check_kind(const std::string& path, Kind kind) {
    switch (kind) {
        case Kind::Read:
        case Kind::Mutation:
        case Kind::Public:
            return;
    }
    refuse(path, "kind", "must be read, mutation or public");
}

}  // namespace

void Registry::add(const Module& module) {
    if (!matches(module.id, kModulePattern)) {
        throw invalid_config("module " + module.id + ": id: must match " + kModulePattern);
    }
    if (!modules_.emplace(module.id, module.id).second) {
        throw invalid_config("module " + module.id + ": id: there are two of this name");
    }
    for (const std::string& type : module.resource_types) {
        if (!matches(type, kTypePattern)) {
            throw invalid_config(
                "module " + module.id + ": resource type " + type + ": must match " + kTypePattern
            );
        }
        if (has_resource_type(type)) {
            throw invalid_config(
                "module " + module.id + ": resource type " + type + ": is declared already"
            );
        }
        resource_types_.emplace(type, module.id);
    }
    for (const MethodEntry& entry : module.methods) {
        add_method(module, entry);
    }
    for (const PlannedMethod& planned : module.planned) {
        if (methods_.contains(planned.path)) {
            refuse(planned.path, "status", "is planned and served");
        }
        planned_.push_back(planned);
    }
}

void Registry::add_method(const Module& module, const MethodEntry& entry) {
    const std::string path =
        module.is_plugin ? "plugins/" + module.id + "/" + entry.path() : entry.path();
    if (!matches(entry.group, kWordPattern)) {
        refuse(path, "group", "must match " + std::string(kWordPattern));
    }
    if (!matches(entry.name, kWordPattern)) {
        refuse(path, "name", "must match " + std::string(kWordPattern));
    }
    check_functions(path, entry.definition);
    check_kind(path, entry.definition.kind);
    check_action(path, module, entry.definition);
    check_options(path, entry.definition);
    check_row(path, module, entry);
    for (const PlannedMethod& planned : planned_) {
        if (planned.path == path) {
            refuse(path, "status", "is planned and served");
        }
    }
    const bool is_new = methods_
                            .emplace(
                                path,
                                RegisteredMethod{
                                    .path = path,
                                    .module_id = module.id,
                                    .is_plugin = module.is_plugin,
                                    .definition = entry.definition,
                                    .row = entry.row}
                            )
                            .second;
    if (!is_new) {
        refuse(path, "path", "is registered already");
    }
}

void Registry::initialize() const {
    for (const auto& [path, method] : methods_) {
        if (!method.row) {
            continue;
        }
        if (!has_resource_type(method.row->resource_type)) {
            refuse(
                path, "row", "no module declares the resource type " + method.row->resource_type
            );
        }
        for (const auto& alternative : method.row->alternatives) {
            if (!has_resource_type(alternative.resource_type)) {
                refuse(
                    path, "row", "no module declares the resource type " + alternative.resource_type
                );
            }
        }
        probe_resource(method);
    }
}

const RegisteredMethod* Registry::find(std::string_view path) const {
    const auto found = methods_.find(path);
    return found == methods_.end() ? nullptr : &found->second;
}

bool Registry::has_resource_type(std::string_view type) const {
    return type == "tenant" || type == iam::kFleetType || resource_types_.contains(type);
}

}  // namespace compute::method
