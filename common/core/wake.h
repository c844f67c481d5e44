// Wake-ups inside one process: who waits for work on a channel is called when there may be some.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace compute {

// Thread-safe. A wake-up is a hint: it may come without work, and work is found without it by polling.
class WakeHub {
public:
    WakeHub();
    ~WakeHub();
    WakeHub(const WakeHub&) = delete;
    WakeHub& operator=(const WakeHub&) = delete;

    class Subscription;
    // Calls `on_wake` on the waker's thread for every wake(channel) until the returned object is destroyed; the destructor waits for
    // calls under way. `on_wake` must only set a flag or signal a condition.
    [[nodiscard]] std::unique_ptr<Subscription> subscribe(std::string channel, std::function<void()> on_wake);
    void wake(std::string_view channel);

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

class WakeHub::Subscription {
public:
    virtual ~Subscription() = default;
};

}  // namespace compute
