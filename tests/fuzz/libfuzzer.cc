// The entry of libFuzzer into one target, COMPUTE_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

namespace {

const compute::fuzz::Target& target() {
    for (const compute::fuzz::Target& one : compute::fuzz::targets()) {
        if (one.name == COMPUTE_FUZZ_TARGET) {
            return one;
        }
    }
    std::fprintf(stderr, "no target %s\n", COMPUTE_FUZZ_TARGET);
    std::abort();
}

}  // namespace

// Seeds that no file brought yet are put into BETTER_COMPUTE_FUZZ_CORPUS.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    if (const char* const folder = std::getenv("BETTER_COMPUTE_FUZZ_CORPUS")) {
        std::filesystem::create_directories(folder);
        int number = 0;
        for (const std::string& seed : target().seeds) {
            std::ofstream(
                std::filesystem::path(folder) / ("seed-" + std::to_string(++number)),
                std::ios::binary
            ) << seed;
        }
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const compute::fuzz::Target& one = target();
    one.run({reinterpret_cast<const char*>(data), size});
    return 0;
}
