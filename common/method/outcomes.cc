#include "method/outcomes.h"

namespace compute::method {

Outcomes::Outcomes(const Registry& registry) {
    for (const auto& [path, method] : registry.methods()) {
        auto& slots = slots_[&method] = std::make_unique<Slots>();
        slots->path = path;
    }
    slots_[nullptr] = std::make_unique<Slots>();
}

void Outcomes::count(
    const RegisteredMethod* method, std::optional<ErrorCode> code, std::uint64_t duration_us
) noexcept {
    const auto found = slots_.find(method);
    if (found == slots_.end()) {
        return;
    }
    const std::size_t slot = code ? static_cast<std::size_t>(*code) : kSlots - 1;
    found->second->by_code[slot].fetch_add(1, std::memory_order_relaxed);
    found->second->total_us.fetch_add(duration_us, std::memory_order_relaxed);
}

std::vector<OutcomeCount> Outcomes::counts() const {
    std::vector<OutcomeCount> out;
    for (const auto& [method, slots] : slots_) {
        for (std::size_t i = 0; i < kSlots; ++i) {
            const std::uint64_t count = slots->by_code[i].load(std::memory_order_relaxed);
            if (count > 0) {
                const std::string code =
                    i == kSlots - 1 ? "OK"
                                    : std::string(error_info(static_cast<ErrorCode>(i)).name);
                out.push_back({slots->path, code, count});
            }
        }
    }
    return out;
}

std::vector<DurationSum> Outcomes::durations() const {
    std::vector<DurationSum> out;
    for (const auto& [method, slots] : slots_) {
        std::uint64_t count = 0;
        for (const auto& one : slots->by_code) {
            count += one.load(std::memory_order_relaxed);
        }
        if (count > 0) {
            out.push_back({slots->path, count, slots->total_us.load(std::memory_order_relaxed)});
        }
    }
    return out;
}

}  // namespace compute::method
