// Ends what is booked on a node that is gone.
#pragma once

#include "method/context.h"
#include "modules/capacity/bookings.h"

namespace compute::capacity {

inline void lose_node(const method::Context& context, store::Transaction& tx, const NodeId& node) {
    close_bookings_on(tx, node, context.now());
}
inline void lose_future_of_node(
    const method::Context&, store::Transaction&, const NodeId&, EpochMs
) {}

}  // namespace compute::capacity
