// Draining: nothing new is placed on the node; it is drained when nothing is left on it. At the
// deadline, if there is one, what is left is ended and healed elsewhere as if the node were lost.
#pragma once

#include "method/module.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {

// Makes a draining node drained when it is empty or its deadline has come. `node` is as stored and
// locked by this transaction; it is written when it changes.
void drain_further(const method::Context& context, store::Transaction& tx, Node& node);

// Does that for every draining node, and removes enrolment tokens that ended long ago.
[[nodiscard]] method::Reconciler node_reconciler();

}  // namespace compute::capacity
