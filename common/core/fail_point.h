// Fail points: named places where a test may kill the process, to see what the next start makes of it.
//
// Built in only with COMPUTE_FAIL_POINTS (the test builds); a release has none. BETTER_COMPUTE_FAIL_POINT=name[:N] ends the process
// with SIGKILL when the place `name` is passed for the N-th time (N >= 1, default 1). `git grep 'fail_point("'` lists the names.
//
// BETTER_COMPUTE_CLOCK_OFFSET_MS moves the process's wall clock, so that a test can start a daemon "an hour later": leases run
// out and history grows old without a wait.
#pragma once

#include <cstdint>

namespace compute {

#ifdef COMPUTE_FAIL_POINTS
// Thread-safe. Dies here when the environment says so; costs one comparison otherwise.
void fail_point(const char* name) noexcept;
// How far the wall clock is moved; read once.
[[nodiscard]] std::int64_t clock_offset_ms() noexcept;
#else
[[nodiscard]] inline std::int64_t clock_offset_ms() noexcept {
    return 0;
}
inline void fail_point(const char* /*name*/) noexcept {}
#endif

}  // namespace compute
