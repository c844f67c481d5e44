// The placer: tries those that wait again when room may have come free, and replaces what was lost
// with nodes.
//
// It runs when it is woken (bookings closed, a node came, a pool or the queue changed) at most
// every 50 ms, and at the time the index says that the next claim will fit; the interval is the
// safety net. Several processes may run it at once: a claim's row and the nodes' versions decide.
#pragma once

#include "method/module.h"
#include "modules/capacity/placing.h"

namespace compute::capacity {

[[nodiscard]] method::Reconciler placer_reconciler(const SharedPlacement& placement);

}  // namespace compute::capacity
