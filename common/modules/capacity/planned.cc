// What is named, and decided on in policies, before it is served. A row here may change freely
// until its method is served.
#include "modules/capacity/methods.h"

namespace compute::capacity {
namespace {

struct PlannedRow {
    const char* path;
    method::Kind kind;
    const char* action;
    const char* resource_type;
    int phase;
};

constexpr method::Kind kRead = method::Kind::Read;
constexpr method::Kind kMutation = method::Kind::Mutation;

constexpr PlannedRow kRows[] = {
    {"instances/create", kMutation, "compute:instances:create", "instance", 3},
    {"instances/stop", kMutation, "compute:instances:stop", "instance", 3},
    {"instances/get", kRead, "compute:instances:read", "instance", 3},
    {"instances/list", kRead, "compute:instances:list", "tenant", 3},
    {"instances/logs", kRead, "compute:instances:logs", "instance", 3},
    {"tunnels/open", kMutation, "compute:tunnels:open", "instance", 3},
    {"tunnels/get", kRead, "compute:tunnels:read", "tunnel", 3},
    {"tunnels/list", kRead, "compute:tunnels:list", "tenant", 3},
    {"tunnels/close", kMutation, "compute:tunnels:close", "tunnel", 3},
};

std::vector<method::MethodRow::Alternative> alternatives_of(std::string_view path) {
    if (path == "tunnels/open") {
        return {{"compute:tunnels:open", "sandbox"}, {"compute:nodes:console", "node"}};
    }
    return {};
}

}  // namespace

std::vector<method::PlannedMethod> planned_methods() {
    std::vector<method::PlannedMethod> planned;
    for (const PlannedRow& row : kRows) {
        planned.push_back(
            {.path = row.path,
             .kind = row.kind,
             .row =
                 {.action = row.action,
                  .resource_type = row.resource_type,
                  .alternatives = alternatives_of(row.path),
                  .is_list_per_item = false,
                  .status = method::MethodStatus::Planned,
                  .phase = row.phase}}
        );
    }
    return planned;
}

}  // namespace compute::capacity
