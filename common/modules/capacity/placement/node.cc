#include "modules/capacity/placement/node.h"

namespace compute::capacity {
namespace {

// Counts a GPU with `used` of it taken into the view.
void count_gpu(NodeView& view, std::size_t place, const IndexedGpu& gpu, std::int64_t used) {
    view.is_untouched = view.is_untouched && used == 0;
    if (!gpu.is_placeable()) {
        view.free[place] = -1;
        return;
    }
    const auto free =
        static_cast<std::int16_t>(std::clamp<std::int64_t>(kWholeGpuMilli - used, 0, kWholeGpuMilli)
        );
    view.free[place] = free;
    view.free_milli += free;
    ++view.placeable;
    view.largest_free = std::max(view.largest_free, free);
    if (gpu.health == GpuHealth::Degraded) {
        view.degraded = static_cast<std::uint16_t>(view.degraded | 1U << place);
    }
    if (used == 0) {
        ++view.whole;
        view.whole_healthy =
            static_cast<std::int16_t>(view.whole_healthy + (gpu.health == GpuHealth::Healthy));
    }
}

}  // namespace

int IndexedNode::find_gpu(const std::string& uuid) const {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (gpus[i].uuid == uuid) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

void IndexedNode::use(
    EpochMs from, EpochMs to, int gpu, std::int64_t milli, const HostAmount& host_amount
) {
    if (gpu >= 0 && static_cast<std::size_t>(gpu) < gpus.size()) {
        gpus[static_cast<std::size_t>(gpu)].use.add(from, to, milli);
    }
    host.add(from, to, host_amount);
}

void IndexedNode::forget_before(EpochMs now) {
    host.forget_before(now);
    for (IndexedGpu& gpu : gpus) {
        gpu.use.forget_before(now);
    }
}

NodeView IndexedNode::blank_view() const {
    NodeView view;
    view.reach = {};
    view.domain = domain;
    view.model = model;
    view.gpus = static_cast<std::int16_t>(gpus.size());
    if (!gpus.empty()) {
        const auto count = static_cast<std::int64_t>(gpus.size());
        view.cpu_share = cpu_milli / count;
        view.memory_share = memory_mib / count;
    }
    view.is_untouched = true;
    view.is_ready = is_ready;
    view.is_enabled = is_enabled;
    return view;
}

NodeView IndexedNode::view(EpochMs from, EpochMs to) const {
    NodeView view = blank_view();
    const HostAmount used = host.peak(from, to, view.reach);
    view.cpu_milli = std::max<std::int64_t>(cpu_milli - used.cpu_milli, 0);
    view.memory_mib = std::max<std::int64_t>(memory_mib - used.memory_mib, 0);
    view.is_untouched = used == HostAmount{};
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        count_gpu(view, i, gpus[i], gpus[i].use.peak(from, to, view.reach));
    }
    return view;
}

NodeView IndexedNode::idle_view() const {
    NodeView view = blank_view();
    view.is_ready = true;
    view.is_enabled = true;
    view.cpu_milli = cpu_milli;
    view.memory_mib = memory_mib;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        count_gpu(view, i, gpus[i], 0);
    }
    return view;
}

EpochMs IndexedNode::quiet_from() const {
    EpochMs quiet = host.quiet_from();
    for (const IndexedGpu& gpu : gpus) {
        quiet = std::max(quiet, gpu.use.quiet_from());
    }
    return quiet;
}

}  // namespace compute::capacity
