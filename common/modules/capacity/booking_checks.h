// What doctor says about bookings. Each check reads the newest changes first and stops when its
// budget is used, saying what it left out; a deep run reads everything, windows that are over too.
#pragma once

#include <vector>

#include "method/module.h"

namespace compute::capacity {

// capacity.double-bookings (I1), capacity.stray-bookings (I2, I3, I6),
// capacity.lost-nodes-with-bookings.
[[nodiscard]] std::vector<method::Check> booking_checks();

}  // namespace compute::capacity
