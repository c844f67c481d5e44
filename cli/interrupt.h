// Ctrl-C during long work: the batch under way is finished, the next is not begun.
#pragma once

namespace compute::cli {

// From now on SIGINT and SIGTERM set a flag instead of ending the process; a second one ends it as
// usual.
void watch_interrupts();
[[nodiscard]] bool is_interrupted() noexcept;

}  // namespace compute::cli
