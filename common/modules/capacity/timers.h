// What happens to reservations by the hour: start, end, the end of waiting, and the removal of what
// was never decided.
//
// One wheel, fed from rows: `next_timer_at` says when a row must be looked at, and a pass looks at
// what is due. Each firing reads the row it changes and judges by its state and times, so an extend
// that committed before makes an expiry nothing, and of several processes one fires. What is late,
// after an outage, is done in order: placed, active, ended, each with its event.
#pragma once

#include "method/module.h"

namespace compute::capacity {

[[nodiscard]] method::Reconciler timers_reconciler();

}  // namespace compute::capacity
