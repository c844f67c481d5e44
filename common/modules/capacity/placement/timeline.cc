#include "modules/capacity/placement/timeline.h"

#include <algorithm>
#include <cstring>

namespace compute::capacity {
namespace {

// How far a window's end is followed for the sake of later windows.
constexpr std::size_t kLookAhead = 8;

constexpr std::array<std::int32_t, kMaxGpus> kNoMilli{};

// Four amounts that the compiler compares with one instruction where there is one.
using Lanes [[gnu::vector_size(16)]] = std::int32_t;

Lanes load(const std::int32_t* amounts) {
    Lanes lanes;
    std::memcpy(&lanes, amounts, sizeof lanes);
    return lanes;
}

// Whether a comparison holds in any lane.
bool is_any(const Lanes& lanes) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), &lanes, sizeof lanes);
    return (words[0] | words[1]) != 0;
}

}  // namespace

void Timeline::reset(std::size_t gpus) {
    at_.clear();
    host_.clear();
    gpu_.clear();
    gpus_ = gpus;
    stride_ = (gpus + kLanes - 1) / kLanes * kLanes;
    note_ends();
}

Timeline::Step Timeline::nothing() {
    return {std::numeric_limits<EpochMs>::min(), {}, kNoMilli.data()};
}

void Timeline::add(EpochMs from, EpochMs to, int gpu, std::int64_t milli, const HostAmount& host) {
    const bool has_gpu = gpu >= 0 && static_cast<std::size_t>(gpu) < gpus_ && milli != 0;
    if (from >= to || (!has_gpu && host == HostAmount{})) {
        return;
    }
    const std::size_t first = split(from);
    const std::size_t last = to == kEverMs ? size() : split(to);
    for (std::size_t i = first; i < last; ++i) {
        host_[i] += host;
        if (has_gpu) {
            gpu_[i * stride_ + static_cast<std::size_t>(gpu)] += static_cast<std::int32_t>(milli);
        }
    }
    // Only at the two ends may neighbours have become equal.
    if (last < size()) {
        join(last);
    }
    join(first);
    note_ends();
}

void Timeline::forget_before(EpochMs now) {
    const std::size_t next = after(now);
    if (next <= 1) {
        return;
    }
    const auto gone = static_cast<std::ptrdiff_t>(next - 1);
    at_.erase(at_.begin(), at_.begin() + gone);
    host_.erase(host_.begin(), host_.begin() + gone);
    gpu_.erase(gpu_.begin(), gpu_.begin() + gone * static_cast<std::ptrdiff_t>(stride_));
    note_ends();
}

void Timeline::shrink() {
    at_.shrink_to_fit();
    host_.shrink_to_fit();
    gpu_.shrink_to_fit();
}

void Timeline::note_ends() {
    quiet_from_ = std::numeric_limits<EpochMs>::min();
    if (at_.empty()) {
        return;
    }
    first_at_ = at_.front();
    last_at_ = at_.back();
    const auto last_gpus = gpu_.end() - static_cast<std::ptrdiff_t>(stride_);
    const bool ends_quiet =
        host_.back() == HostAmount{} &&
        std::all_of(last_gpus, gpu_.end(), [](std::int32_t milli) { return milli == 0; });
    quiet_from_ = ends_quiet ? last_at_ : kEverMs;
}

std::size_t Timeline::guess(EpochMs at) const {
    if (at <= first_at_) {
        return 0;
    }
    if (at >= last_at_) {
        return size() - 1;
    }
    const double part =
        static_cast<double>(at - first_at_) / static_cast<double>(last_at_ - first_at_);
    return std::min(static_cast<std::size_t>(part * static_cast<double>(size() - 1)), size() - 1);
}

// From the guess outwards in growing strides, then between the last two of them.
std::size_t Timeline::after(EpochMs at) const {
    if (at_.empty() || at < first_at_) {
        return 0;
    }
    if (at >= last_at_) {
        return size();
    }
    std::size_t low = guess(at);  // at_[low] <= at < at_[high], once both are found
    std::size_t high = low;
    for (std::size_t stride = 1; at_[high] <= at; stride *= 2) {
        low = high;
        high = std::min(high + stride, size() - 1);
    }
    for (std::size_t stride = 1; at_[low] > at; stride *= 2) {
        high = low;
        low = low > stride ? low - stride : 0;
    }
    const auto begin = at_.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = at_.begin() + static_cast<std::ptrdiff_t>(high);
    return static_cast<std::size_t>(std::upper_bound(begin, end, at) - at_.begin());
}

std::size_t Timeline::split(EpochMs at) {
    // The bounds that after() trusts are those of before this change.
    note_ends();
    const std::size_t place = after(at);
    if (place > 0 && at_[place - 1] == at) {
        return place - 1;
    }
    const auto offset = static_cast<std::ptrdiff_t>(place);
    const auto row = static_cast<std::ptrdiff_t>(place * stride_);
    at_.insert(at_.begin() + offset, at);
    host_.insert(host_.begin() + offset, place == 0 ? HostAmount{} : host_[place - 1]);
    const auto stride = static_cast<std::ptrdiff_t>(stride_);
    gpu_.insert(gpu_.begin() + row, stride_, 0);
    if (place > 0) {
        std::copy_n(gpu_.begin() + row - stride, stride_, gpu_.begin() + row);
    }
    return place;
}

void Timeline::join(std::size_t place) {
    const Step before = place == 0 ? nothing() : step(place - 1);
    const Step here = step(place);
    if (here.host != before.host ||
        !std::equal(here.gpu_milli, here.gpu_milli + gpus_, before.gpu_milli)) {
        return;
    }
    const auto offset = static_cast<std::ptrdiff_t>(place);
    const auto row = gpu_.begin() + static_cast<std::ptrdiff_t>(place * stride_);
    at_.erase(at_.begin() + offset);
    host_.erase(host_.begin() + offset);
    gpu_.erase(row, row + static_cast<std::ptrdiff_t>(stride_));
}

bool Timeline::raise(Peak& peak, std::size_t place) const {
    const HostAmount& host = host_[place];
    bool has_raised =
        host.cpu_milli > peak.host.cpu_milli || host.memory_mib > peak.host.memory_mib;
    peak.host.cpu_milli = std::max(peak.host.cpu_milli, host.cpu_milli);
    peak.host.memory_mib = std::max(peak.host.memory_mib, host.memory_mib);
    const std::int32_t* gpus = gpu_.data() + place * stride_;
    Lanes is_above{};
    for (std::size_t i = 0; i < stride_; i += kLanes) {
        const Lanes used = load(gpus + i);
        const Lanes most = load(peak.gpu_milli.data() + i);
        is_above |= used > most;
        const Lanes raised = used > most ? used : most;
        std::memcpy(peak.gpu_milli.data() + i, &raised, sizeof raised);
    }
    return has_raised || is_any(is_above);
}

bool Timeline::is_full(const Peak& peak, GpuBits gpus) const {
    bool is_full = gpus != 0;
    for (std::size_t i = 0; i < gpus_; ++i) {
        is_full &= (gpus >> i & 1U) == 0 || peak.gpu_milli[i] >= kWholeGpuMilli;
    }
    return is_full;
}

EpochMs Timeline::next_rise(std::size_t place, const Peak& peak) const {
    for (std::size_t i = 0; place < size(); ++place, ++i) {
        if (i == kLookAhead) {
            return at_[place];
        }
        const HostAmount& host = host_[place];
        const std::int32_t* gpus = gpu_.data() + place * stride_;
        Lanes is_above{};
        for (std::size_t gpu = 0; gpu < stride_; gpu += kLanes) {
            is_above |= load(gpus + gpu) > load(peak.gpu_milli.data() + gpu);
        }
        if (host.cpu_milli > peak.host.cpu_milli || host.memory_mib > peak.host.memory_mib ||
            is_any(is_above)) {
            return at_[place];
        }
    }
    return kEverMs;
}

Peak Timeline::peak(EpochMs from, EpochMs to, GpuBits stop_when_full) const {
    Peak peak;
    std::size_t place = after(from);
    if (place > 0) {
        peak.reach.from_low = at_[place - 1];
        raise(peak, place - 1);
        peak.is_full = is_full(peak, stop_when_full);
    }
    if (place == size()) {
        return peak;
    }
    peak.reach.from_high = at_[place];
    for (; !peak.is_full && place < size() && at_[place] < to; ++place) {
        if (raise(peak, place)) {
            peak.reach.to_low = at_[place];
            peak.is_full = is_full(peak, stop_when_full);
        }
    }
    if (!peak.is_full) {
        peak.reach.to_high = next_rise(place, peak);
    }
    return peak;
}

}  // namespace compute::capacity
