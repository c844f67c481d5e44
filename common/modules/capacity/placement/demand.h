// What has been asked for lately: which models by name, and how much CPU and memory goes with a
// GPU. It fades by half in a day, in steps, in integers: equal calls give equal numbers anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.h"

namespace compute::capacity {

class DemandWindow {
public:
    struct Ask {
        std::int64_t gpu_milli = 0;
        std::int64_t cpu_milli = 0;  // of all its GPUs
        std::int64_t memory_mib = 0;
        std::vector<std::size_t> models;  // those named, by id
    };

    void note(const Ask& ask, EpochMs at);

    [[nodiscard]] std::int64_t total_milli() const { return total_; }
    // The demand that names `model`; of a claim that names several, each gets its part.
    [[nodiscard]] std::int64_t named_milli(std::size_t model) const {
        return model < named_.size() ? named_[model] : 0;
    }
    [[nodiscard]] std::int64_t cpu_milli() const { return cpu_; }
    [[nodiscard]] std::int64_t memory_mib() const { return memory_; }

private:
    void fade(EpochMs at);

    std::int64_t step_ = 0;  // the one that the sums stand in
    std::int64_t total_ = 0;
    std::int64_t cpu_ = 0;
    std::int64_t memory_ = 0;
    std::vector<std::int64_t> named_;
};

}  // namespace compute::capacity
