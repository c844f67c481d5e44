// A value that can be reached only while its mutex is held.
#pragma once

#include <mutex>
#include <utility>

namespace compute {

// Thread-safe. Never do network, disk or commit inside `with`.
template <class T>
class Guarded {
public:
    Guarded() = default;
    explicit Guarded(T value) : value_(std::move(value)) {}

    template <class Function>
    decltype(auto) with(Function&& function) {
        const std::lock_guard lock(mutex_);
        return std::forward<Function>(function)(value_);
    }
    template <class Function>
    decltype(auto) with(Function&& function) const {
        const std::lock_guard lock(mutex_);
        return std::forward<Function>(function)(value_);
    }

private:
    mutable std::mutex mutex_;
    T value_{};
};

}  // namespace compute
