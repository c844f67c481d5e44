#include "modules/capacity/node_drain.h"

#include <algorithm>

#include "core/fail_point.h"
#include "modules/capacity/node_fields.h"
#include "modules/capacity/losses.h"
#include "modules/capacity/node_removal.h"
#include "modules/capacity/node_tokens.h"
#include "modules/capacity/node_view.h"

namespace compute::capacity {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterval{5000};
// A token that ended stays a while, so that who presents it is told that it has expired.
constexpr EpochMs kTokenMemoryMs = 7 * 86'400'000LL;

constexpr store::Sql kDraining(
    "select id, drain_deadline_at from nodes where admin = 'draining' and removed_at is null"
);

std::optional<milliseconds> run(const method::Runtime& runtime) {
    const method::Context context(runtime);
    std::optional<milliseconds> again;
    for (const store::Row& row :
         runtime.database.query(kDraining, {}, store::Purpose::Background)) {
        const NodeId id(row.get_text(0));
        runtime.database.write(
            [&](store::Transaction& tx) {
                auto node = find_node_to_change(tx, id);
                if (node && node->admin == "draining") {
                    drain_further(context, tx, *node);
                    fail_point("capacity.node-drained.uncommitted");
                }
            },
            store::Purpose::Background
        );
        if (const auto deadline = row.find_int(1); deadline && *deadline > context.now()) {
            const milliseconds left(*deadline - context.now());
            again = again ? std::min(*again, left) : left;
        }
    }
    runtime.database.write(
        [&](store::Transaction& tx) { prune_node_tokens(tx, context.now() - kTokenMemoryMs); },
        store::Purpose::Background
    );
    return again;
}

}  // namespace

void drain_further(const method::Context& context, store::Transaction& tx, Node& node) {
    const EpochMs now = context.now();
    const bool is_over = node.drain_deadline_at && *node.drain_deadline_at <= now;
    const auto holders = holders_on(tx, node.id, now);
    if (!is_over && count_bookings_on(tx, node.id, now) > 0) {
        return;
    }
    node.admin = "drained";
    node.drain_deadline_at.reset();
    save_node(tx, node, now);
    lose_node(context, tx, node.id);
    publish_node_to(context, tx, node, {"node.drained", node.admin_reason, 0}, holders);
}

method::Reconciler node_reconciler() {
    method::Reconciler reconciler;
    reconciler.name = "capacity.nodes";
    reconciler.interval = kInterval;
    reconciler.wake_on = {kNodesChannel};
    reconciler.run = run;
    return reconciler;
}

}  // namespace compute::capacity
