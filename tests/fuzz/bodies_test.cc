// Every method behind a running envelope, fed with bodies made from its own schema: only settled
// errors, nothing slow. A slice of `./dev fuzz bodies`; BETTER_COMPUTE_FUZZ_BODIES,
// BETTER_COMPUTE_FUZZ_SEED, BETTER_COMPUTE_FUZZ_METHOD and BETTER_COMPUTE_FUZZ_SLOW_MS change how
// much, which and how slow.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/plane.h"

namespace compute::fuzz {
namespace {

constexpr std::int64_t kBodies = 120;
constexpr std::int64_t kSeed = 20'261'130;
// The promise is 10 ms for a body of 64 KiB. Test builds are not optimized, and sanitizers cost
// several times as much again; what is wrong in kind is slower than this by far.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kSlowMs = 200;
#else
constexpr std::int64_t kSlowMs = 40;
#endif

std::int64_t number_from(const char* name, std::int64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

class FuzzedBodies : public testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, FuzzedBodies, support::both_engines(), support::engine_name);

TEST_P(FuzzedBodies, GetOnlySettledErrorsAndAreNeverSlow) {
    const RunOptions options{
        .seed = static_cast<std::uint64_t>(number_from("BETTER_COMPUTE_FUZZ_SEED", kSeed)),
        .bodies = number_from("BETTER_COMPUTE_FUZZ_BODIES", kBodies),
        .slow_ms = static_cast<double>(number_from("BETTER_COMPUTE_FUZZ_SLOW_MS", kSlowMs))};
    const char* const only = std::getenv("BETTER_COMPUTE_FUZZ_METHOD");
    FuzzPlane plane(GetParam());
    std::int64_t sent = 0;
    std::int64_t accepted = 0;
    for (const auto& [path, method] : plane.registry().methods()) {
        if (only != nullptr && path != only) {
            continue;
        }
        const MethodReport report = run_method(plane, path, options);

        for (const std::string& fault : report.faults) {
            ADD_FAILURE() << path << ": " << fault;
        }
        std::printf(
            "%-28s %7lld bodies, %6lld accepted, slowest %.2f ms (%zu bytes)\n",
            path.c_str(),
            static_cast<long long>(report.sent),
            static_cast<long long>(report.accepted),
            report.worst_ms,
            report.worst_bytes
        );
        std::fflush(stdout);
        sent += report.sent;
        accepted += report.accepted;
    }
    EXPECT_GT(sent, 0);
    EXPECT_GT(accepted, 0) << "nothing got as far as a handler: the maker has lost its way";
}

}  // namespace
}  // namespace compute::fuzz
