#include "method/probe.h"

#include "schema/sample.h"

namespace compute::method {
namespace {

std::vector<Json> placeholders(const RegisteredMethod& method) {
    if (method.row->probe) {
        return {*method.row->probe};
    }
    if (method.definition.json_schema == nullptr) {
        throw invalid_config(
            "method " + method.path +
            ": validate: carries no JSON Schema to make a placeholder from"
        );
    }
    return schema::sample_inputs(*method.definition.json_schema);
}

void check_decided(const RegisteredMethod& method, const std::optional<Resource>& resource) {
    if (!resource) {
        if (!method.definition.admission) {
            throw invalid_config(
                "method " + method.path + ": resource: gives nothing to decide on"
            );
        }
        return;  // an admission learns its resource in prepare; the call itself is checked then
    }
    const std::string action = resource->action.value_or(method.definition.action.value_or(""));
    if (!row_lists(*method.row, action, resource->type)) {
        throw invalid_config(
            "method " + method.path + ": resource: decides " + action + " on " + resource->type +
            ", the method table says " + method.row->action + " on " + method.row->resource_type
        );
    }
}

}  // namespace

bool row_lists(const MethodRow& row, std::string_view action, std::string_view type) {
    if (row.action == action && row.resource_type == type) {
        return true;
    }
    for (const auto& alternative : row.alternatives) {
        if (alternative.action == action && alternative.resource_type == type) {
            return true;
        }
    }
    return false;
}

void probe_resource(const RegisteredMethod& method) {
    if (method.definition.kind == Kind::Public) {
        return;
    }
    bool was_tried = false;
    for (const Json& placeholder : placeholders(method)) {
        Input input;
        try {
            input = method.definition.validate(placeholder);
        } catch (const ComputeError&) {
            continue;  // a rule that the schema does not state; another placeholder may do
        }
        was_tried = true;
        try {
            check_decided(method, method.definition.resource(input));
        } catch (const ComputeError&) {
            throw;
        } catch (const std::exception& error) {
            throw invalid_config("method " + method.path + ": resource: threw " + error.what());
        }
    }
    if (!was_tried) {
        throw invalid_config(
            "method " + method.path + ": resource: no placeholder input passes its validator",
            "give the row of the method table a probe input"
        );
    }
}

}  // namespace compute::method
