// Reads the GPUs again and again on a thread of its own: a driver that hangs must not stop the
// heartbeats. While it hangs, the last inventory stands.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "agent/gpu_source.h"
#include "agent_protocol/messages.h"
#include "core/guarded.h"
#include "core/log.h"

namespace compute::agent {

class InventoryWatch {
public:
    // Reads once before it returns. `log` outlives it.
    InventoryWatch(std::unique_ptr<GpuSource> source, Log& log);
    ~InventoryWatch();
    InventoryWatch(const InventoryWatch&) = delete;
    InventoryWatch& operator=(const InventoryWatch&) = delete;

    [[nodiscard]] std::optional<std::string> driver() const { return driver_; }
    // The GPUs, when they are others than at the last call.
    [[nodiscard]] std::optional<std::vector<agent_protocol::Gpu>> take_changed();
    [[nodiscard]] std::vector<agent_protocol::GpuEvent> take_events();

private:
    void run(const std::stop_token& stop);
    void look(class KernelLog& kernel_log);

    struct Found {
        std::vector<agent_protocol::Gpu> gpus;
        bool is_new = true;
        std::vector<agent_protocol::GpuEvent> events;
    };
    std::unique_ptr<GpuSource> source_;
    Log& log_;
    std::optional<std::string> driver_;
    Guarded<Found> found_;
    std::vector<agent_protocol::Gpu> known_;  // all seen so far: a lost GPU still has Xids
    bool has_failed_ = false;
    std::mutex mutex_;
    std::jthread thread_;
};

}  // namespace compute::agent
