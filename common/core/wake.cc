#include "core/wake.h"

#include <list>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace compute {

struct WakeHub::Impl {
    struct Entry {
        std::string channel;
        std::function<void()> on_wake;
    };
    // Shared while waking, exclusive while the list changes: so a destructor waits for calls under way.
    std::shared_mutex mutex;
    std::list<Entry> entries;
};

namespace {

class SubscriptionOf final : public WakeHub::Subscription {
public:
    explicit SubscriptionOf(std::function<void()> on_destroy) : on_destroy_(std::move(on_destroy)) {}
    SubscriptionOf(const SubscriptionOf&) = delete;
    SubscriptionOf& operator=(const SubscriptionOf&) = delete;
    ~SubscriptionOf() override { on_destroy_(); }

private:
    std::function<void()> on_destroy_;
};

}  // namespace

WakeHub::WakeHub() : impl_(std::make_shared<Impl>()) {}
WakeHub::~WakeHub() = default;

std::unique_ptr<WakeHub::Subscription> WakeHub::subscribe(
    std::string channel, std::function<void()> on_wake
) {
    const std::unique_lock lock(impl_->mutex);
    const auto entry = impl_->entries.insert(
        impl_->entries.end(), Impl::Entry{std::move(channel), std::move(on_wake)}
    );
    return std::make_unique<SubscriptionOf>([impl = impl_, entry] {
        const std::unique_lock erase_lock(impl->mutex);
        impl->entries.erase(entry);
    });
}

void WakeHub::wake(std::string_view channel) {
    const std::shared_lock lock(impl_->mutex);
    for (const Impl::Entry& entry : impl_->entries) {
        if (entry.channel == channel) {
            entry.on_wake();
        }
    }
}

}  // namespace compute
