// Healing: a reservation that lost slices with a node gets others, if it is active or starts within
// an hour. Only the lost slices move. What cannot be replaced leaves an active reservation
// degraded, to be tried again when room comes free; one that has not begun goes back into the
// queue.
#pragma once

#include "method/context.h"
#include "modules/capacity/placing.h"

namespace compute::capacity {

// One pass over the losses that are due. Returns when the next loss that is not due yet will be.
std::optional<EpochMs> heal_losses(
    const method::Runtime& runtime, const SharedPlacement& placement, EpochMs now
);

}  // namespace compute::capacity
