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
    {"nodes/createToken", kMutation, "compute:nodes:enroll", "pool", 2},
    {"nodes/get", kRead, "compute:nodes:read", "node", 2},
    {"nodes/list", kRead, "compute:nodes:list", "tenant", 2},
    {"nodes/update", kMutation, "compute:nodes:update", "node", 2},
    {"nodes/setSchedulable", kMutation, "compute:nodes:drain", "node", 2},
    {"nodes/resetGpu", kMutation, "compute:nodes:update", "node", 2},
    {"nodes/remove", kMutation, "compute:nodes:remove", "node", 2},
    {"quotas/set", kMutation, "compute:quotas:set", "project", 2},
    {"quotas/get", kRead, "compute:quotas:read", "tenant", 2},
    {"quotas/list", kRead, "compute:quotas:read", "tenant", 2},
    {"reservations/create", kMutation, "compute:reservations:create", "reservation", 2},
    {"reservations/preview", kRead, "compute:reservations:read", "tenant", 2},
    {"reservations/get", kRead, "compute:reservations:read", "reservation", 2},
    {"reservations/list", kRead, "compute:reservations:list", "tenant", 2},
    {"reservations/extend", kMutation, "compute:reservations:extend", "reservation", 2},
    {"reservations/release", kMutation, "compute:reservations:release", "reservation", 2},
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
    if (path == "quotas/set") {
        // A tenant's own limits are decided on the fleet: an administrator of the tenant must not
        // be able to raise them.
        return {{"compute:quotas:set", "fleet"}};
    }
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
