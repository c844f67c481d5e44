#include "modules/capacity/capacity.h"

#include <memory>
#include <utility>

#include "modules/capacity/booking_checks.h"
#include "modules/capacity/live_placement.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/node_checks.h"
#include "modules/capacity/node_drain.h"
#include "modules/capacity/node_row.h"
#include "modules/capacity/placer.h"
#include "modules/capacity/pool.h"
#include "modules/capacity/project.h"
#include "modules/capacity/reservation_checks.h"
#include "modules/capacity/reservation_view.h"
#include "modules/capacity/timers.h"

namespace compute::capacity {

method::Module capacity_module() {
    const auto placement = std::make_shared<LivePlacement>();
    method::Module module;
    module.id = "capacity";
    module.methods.push_back(pools_create());
    module.methods.push_back(pools_get());
    module.methods.push_back(pools_list());
    module.methods.push_back(pools_update());
    module.methods.push_back(pools_delete());
    module.methods.push_back(pools_capacity(placement));
    module.methods.push_back(projects_create());
    module.methods.push_back(projects_get());
    module.methods.push_back(projects_list());
    module.methods.push_back(projects_update());
    module.methods.push_back(projects_archive());
    module.methods.push_back(nodes_create_token());
    module.methods.push_back(nodes_get());
    module.methods.push_back(nodes_list());
    module.methods.push_back(nodes_update());
    module.methods.push_back(nodes_set_schedulable());
    module.methods.push_back(nodes_reset_gpu());
    module.methods.push_back(nodes_remove());
    module.methods.push_back(quotas_set());
    module.methods.push_back(quotas_get());
    module.methods.push_back(quotas_list());
    module.methods.push_back(reservations_create(placement));
    module.methods.push_back(reservations_preview(placement));
    module.methods.push_back(reservations_get());
    module.methods.push_back(reservations_list());
    module.methods.push_back(reservations_extend());
    module.methods.push_back(reservations_release());
    module.planned = planned_methods();
    module.reconcilers.push_back(node_reconciler());
    module.reconcilers.push_back(timers_reconciler());
    module.reconcilers.push_back(placer_reconciler(placement));
    for (auto checks : {node_checks, booking_checks, reservation_checks}) {
        for (method::Check& check : checks()) {
            module.checks.push_back(std::move(check));
        }
    }
    module.gauges = node_gauges();
    // A large fleet is read before the first request waits for it.
    module.on_start = [placement](const method::Runtime& runtime) {
        placement->catch_up(runtime.database, runtime.clock);
    };
    module.resource_types = {kPoolType, kProjectType, kNodeType, kReservationType};
    module.event_families = {
        {.name = "pool",
         .subject = "pool/{id}",
         .module = "capacity",
         .description = "A pool was created, changed or deleted.",
         .types = {"pool.created", "pool.updated", "pool.deleted"}},
        reservation_events(),
        {.name = "project",
         .subject = "project/{id}",
         .module = "capacity",
         .description = "A project was created, changed or archived.",
         .types = {"project.created", "project.updated", "project.archived"}},
        {.name = "quota",
         .subject = "quota/{scope}",
         .module = "capacity",
         .description = "Limits of a tenant or of one of its projects were changed.",
         .types = {"quota.changed"}},
        {.name = "node",
         .subject = "node/{id}",
         .module = "capacity",
         .description = "A node joined, was heard or not heard, changed, or one of its GPUs did.",
         .types =
             {"node.registered",
              "node.ready",
              "node.disconnected",
              "node.reconnected",
              "node.lost",
              "node.enabled",
              "node.cordoned",
              "node.draining",
              "node.drained",
              "node.updated",
              "node.removed",
              "node.gpu.missing",
              "node.gpu.failed",
              "node.gpu.degraded",
              "node.gpu.recovered"}},
    };
    return module;
}

}  // namespace compute::capacity
