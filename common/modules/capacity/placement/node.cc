#include "modules/capacity/placement/node.h"

#include <algorithm>
#include <utility>

namespace compute::capacity {

int IndexedNode::find_gpu(const std::string& uuid) const {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (gpus[i].uuid == uuid) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

void IndexedNode::put_gpus(std::vector<IndexedGpu> all) {
    gpus = std::move(all);
    gpu_count = static_cast<std::int16_t>(gpus.size());
    placeable = 0;
    degraded = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const bool is_degraded = gpus[i].health == GpuHealth::Degraded;
        placeable = static_cast<std::uint16_t>(placeable | (gpus[i].is_placeable() ? 1U : 0U) << i);
        degraded = static_cast<std::uint16_t>(degraded | (is_degraded ? 1U : 0U) << i);
    }
    use.reset(gpus.size());
}

NodeView IndexedNode::blank_view() const {
    NodeView view;
    view.reach = {};
    view.domain = facts.domain;
    view.model = facts.model;
    view.gpus = gpu_count;
    view.degraded = degraded;
    if (gpu_count > 0) {
        view.cpu_share = cpu_milli / gpu_count;
        view.memory_share = memory_mib / gpu_count;
    }
    view.is_untouched = true;
    view.is_ready = facts.is_ready;
    view.is_enabled = facts.is_enabled;
    return view;
}

void IndexedNode::count_gpu(NodeView& view, std::size_t place, std::int64_t used) const {
    view.is_untouched = view.is_untouched && used == 0;
    if ((placeable >> place & 1U) == 0) {
        view.free[place] = -1;
        return;
    }
    const auto free =
        static_cast<std::int16_t>(std::clamp<std::int64_t>(kWholeGpuMilli - used, 0, kWholeGpuMilli)
        );
    const bool is_whole = used == 0;
    const bool is_healthy = (degraded >> place & 1U) == 0;
    view.free[place] = free;
    view.free_milli += free;
    ++view.placeable;
    view.largest_free = std::max(view.largest_free, free);
    view.whole = static_cast<std::int16_t>(view.whole + is_whole);
    view.whole_healthy = static_cast<std::int16_t>(view.whole_healthy + (is_whole && is_healthy));
}

NodeView IndexedNode::view(EpochMs from, EpochMs to, bool needs_host) const {
    NodeView view = blank_view();
    const Peak peak = use.peak(from, to, needs_host ? 0 : placeable);
    view.reach = peak.reach;
    view.is_full = peak.is_full;
    view.cpu_milli = std::max<std::int64_t>(cpu_milli - peak.host.cpu_milli, 0);
    view.memory_mib = std::max<std::int64_t>(memory_mib - peak.host.memory_mib, 0);
    view.is_untouched = peak.host == HostAmount{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(gpu_count); ++i) {
        count_gpu(view, i, peak.gpu_milli[i]);
    }
    return view;
}

NodeView IndexedNode::idle_view() const {
    NodeView view = blank_view();
    view.is_ready = true;
    view.is_enabled = true;
    view.cpu_milli = cpu_milli;
    view.memory_mib = memory_mib;
    for (std::size_t i = 0; i < static_cast<std::size_t>(gpu_count); ++i) {
        count_gpu(view, i, 0);
    }
    return view;
}

}  // namespace compute::capacity
