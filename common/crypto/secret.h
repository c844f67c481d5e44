// A secret has its own type: it cannot be printed, logged or put into JSON by accident, and it is wiped.
#pragma once

#include <string>
#include <string_view>

namespace compute::crypto {

// Not thread-safe to assign; reading is. The bytes are cleansed on destruction and assignment.
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string value);
    Secret(const Secret& other);
    Secret(Secret&& other) noexcept;
    Secret& operator=(const Secret& other);
    Secret& operator=(Secret&& other) noexcept;
    ~Secret();

    // The bytes, for the code that must use them (sign, send, store once). Never for a log or a message.
    [[nodiscard]] std::string_view reveal() const noexcept { return value_; }
    [[nodiscard]] bool empty() const noexcept { return value_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return value_.size(); }

    template <class Stream>
    friend Stream& operator<<(Stream&, const Secret&) = delete;

private:
    void wipe() noexcept;
    std::string value_;
};

// Constant time in the contents; lengths are compared first.
[[nodiscard]] bool equal_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace compute::crypto
