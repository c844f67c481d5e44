// The invariants of bookings in SQL: each function returns a line for each fault it finds, at most
// a hundred.
#pragma once

#include <string>
#include <vector>

#include "method/module.h"
#include "store/database.h"

namespace compute::capacity {

// I1: at no instant is more booked than there is, on a GPU or of a node's CPU and memory. Looks at
// windows that are not over at `after`.
[[nodiscard]] std::vector<std::string> double_bookings(store::Transaction& tx, EpochMs after = 0);
// I2, I3 and I6 over the bookings with ids from `first` up to but not `before`: what lies inside a
// reservation lies within its window and amount; no booking of a reservation that is over reaches
// beyond its end and cleanup; none is of one that was never allowed or waits, or of none at all.
[[nodiscard]] std::vector<std::string> stray_bookings(
    store::Transaction& tx, const std::string& first = "", const std::string& before = "~"
);

// capacity.stuck-drafts.
[[nodiscard]] std::vector<method::Check> reservation_checks();

}  // namespace compute::capacity
