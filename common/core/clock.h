// Time is passed in. Wall time goes into rows, steady time decides how long something took.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <functional>
#include <optional>

namespace compute {

using EpochMs = std::int64_t;  // milliseconds since 1970-01-01T00:00:00Z

// Thread-safe.
class Clock {
public:
    virtual ~Clock() = default;

    [[nodiscard]] virtual EpochMs now_ms() const = 0;          // wall time
    [[nodiscard]] virtual std::int64_t steady_ms() const = 0;  // never goes back; origin unspecified

    // Waits `duration`, or until `is_cancelled` says true (looked at at least every 100 ms of real time). A clock of a
    // test moves its own time instead of waiting.
    virtual void sleep(
        std::chrono::milliseconds duration, const std::function<bool()>& is_cancelled
    ) = 0;
};

class SystemClock final : public Clock {
public:
    [[nodiscard]] EpochMs now_ms() const override;
    [[nodiscard]] std::int64_t steady_ms() const override;
    void sleep(std::chrono::milliseconds duration, const std::function<bool()>& is_cancelled) override;
};

// `2026-09-24T10:15:02.114Z`: UTC, milliseconds, years 1970 to 9999.
[[nodiscard]] std::string iso_time(EpochMs time);

// The reverse of iso_time; also takes a time without a fraction, with 1 to 9 digits of it, or a date alone (midnight UTC).
[[nodiscard]] std::optional<EpochMs> find_iso_time(std::string_view text);

}  // namespace compute
