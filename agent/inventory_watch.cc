#include "agent/inventory_watch.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "agent/kernel_log.h"

namespace compute::agent {
namespace {

constexpr std::chrono::milliseconds kKernelLogPeriod{1000};
constexpr int kLooksPerInventory = 5;

}  // namespace

InventoryWatch::InventoryWatch(std::unique_ptr<GpuSource> source, Log& log)
    : source_(std::move(source)), log_(log) {
    known_ = source_->read();
    driver_ = source_->driver();
    found_.with([&](Found& found) { found.gpus = known_; });
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

InventoryWatch::~InventoryWatch() = default;

std::optional<std::vector<agent_protocol::Gpu>> InventoryWatch::take_changed() {
    return found_.with([](Found& found) {
        return std::exchange(found.is_new, false) ? std::optional(found.gpus) : std::nullopt;
    });
}

std::vector<agent_protocol::GpuEvent> InventoryWatch::take_events() {
    return found_.with([](Found& found) { return std::exchange(found.events, {}); });
}

void InventoryWatch::look(KernelLog& kernel_log) {
    for (const Xid& xid : kernel_log.read()) {
        if (auto event = event_of(xid, known_)) {
            found_.with([&](Found& found) { found.events.push_back(*event); });
        }
    }
}

void InventoryWatch::run(const std::stop_token& stop) {
    KernelLog kernel_log;
    std::condition_variable_any never;
    for (int looks = 1; !stop.stop_requested(); ++looks) {
        {
            std::unique_lock lock(mutex_);
            never.wait_for(lock, stop, kKernelLogPeriod, [] { return false; });
        }
        look(kernel_log);
        if (looks % kLooksPerInventory != 0) {
            continue;
        }
        try {
            std::vector<agent_protocol::Gpu> gpus = source_->read();
            has_failed_ = false;
            for (const agent_protocol::Gpu& gpu : gpus) {
                if (std::none_of(known_.begin(), known_.end(), [&](const auto& one) {
                        return one.uuid == gpu.uuid;
                    })) {
                    known_.push_back(gpu);
                }
            }
            found_.with([&](Found& found) {
                found.is_new = found.is_new || found.gpus != gpus;
                found.gpus = std::move(gpus);
            });
        } catch (const ComputeError& error) {
            // No answer says nothing about the GPUs: the last inventory stands.
            if (!std::exchange(has_failed_, true)) {
                log_.warning("agent.inventory_failed", {{"reason", error.message()}});
            }
        }
    }
}

}  // namespace compute::agent
