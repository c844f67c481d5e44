// Randomness is passed in, so that tests own it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace compute {

// Thread-safe. The production source is crypto::system_rng().
class Rng {
public:
    virtual ~Rng() = default;

    // Fills `size` bytes at `out`.
    virtual void fill(void* out, std::size_t size) = 0;

    // A number in [0, bound), bound > 0. Not for keys: slightly uneven.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
        std::uint64_t value = 0;
        fill(&value, sizeof value);
        return value % bound;
    }
};

}  // namespace compute
