// Fail points: named places where a test may kill the process, to see what the next start makes of it.
//
// Built in only with COMPUTE_FAIL_POINTS (the test builds); a release has none. BETTER_COMPUTE_FAIL_POINT=name[:N] ends the process
// with SIGKILL when the place `name` is passed for the N-th time (N >= 1, default 1). `git grep 'fail_point("'` lists the names.
#pragma once

namespace compute {

#ifdef COMPUTE_FAIL_POINTS
// Thread-safe. Dies here when the environment says so; costs one comparison otherwise.
void fail_point(const char* name) noexcept;
#else
inline void fail_point(const char* /*name*/) noexcept {}
#endif

}  // namespace compute
