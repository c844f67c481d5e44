// Randomness that repeats: the same seed gives the same bytes.
#pragma once

#include <mutex>
#include <random>

#include "core/rng.h"

namespace compute::support {

class SeededRng final : public Rng {
public:
    explicit SeededRng(std::uint64_t seed = 1) : engine_(seed) {}
    void fill(void* out, std::size_t size) override {
        const std::lock_guard lock(mutex_);
        auto* bytes = static_cast<unsigned char*>(out);
        for (std::size_t i = 0; i < size; ++i) {
            bytes[i] = static_cast<unsigned char>(engine_() & 0xffU);
        }
    }

private:
    std::mutex mutex_;
    std::mt19937_64 engine_;
};

}  // namespace compute::support
