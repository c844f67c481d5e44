#include "modules/capacity/placement/demand.h"

#include <algorithm>

namespace compute::capacity {
namespace {

// Sixteen steps of 2^(-1/16) make a half; 62,757 / 65,536 is that root.
constexpr EpochMs kStepMs = 86'400'000 / 16;
constexpr std::int64_t kKeptOf65536 = 62'757;
// After so many steps nothing of the past weighs anything.
constexpr std::int64_t kForgottenSteps = 16 * 40;

}  // namespace

void DemandWindow::fade(EpochMs at) {
    const std::int64_t now = at / kStepMs;
    // A clock that went back fades nothing.
    const std::int64_t steps = std::min(now - step_, kForgottenSteps);
    step_ = std::max(step_, now);
    const auto fade_one = [](std::int64_t& sum) {
        sum = sum / 65'536 * kKeptOf65536 + sum % 65'536 * kKeptOf65536 / 65'536;
    };
    for (std::int64_t i = 0; i < steps && total_ > 0; ++i) {
        fade_one(total_);
        fade_one(cpu_);
        fade_one(memory_);
        std::for_each(named_.begin(), named_.end(), fade_one);
    }
}

void DemandWindow::note(const Ask& ask, EpochMs at) {
    fade(at);
    total_ += ask.gpu_milli;
    cpu_ += ask.cpu_milli;
    memory_ += ask.memory_mib;
    for (const std::size_t model : ask.models) {
        if (model >= named_.size()) {
            named_.resize(model + 1);
        }
        named_[model] += ask.gpu_milli / static_cast<std::int64_t>(ask.models.size());
    }
}

}  // namespace compute::capacity
