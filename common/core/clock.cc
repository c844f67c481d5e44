#include "core/clock.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <thread>

#include "core/fail_point.h"

namespace compute {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCancelCheck{50};

}  // namespace

EpochMs SystemClock::now_ms() const {
    return std::chrono::duration_cast<milliseconds>(
               std::chrono::system_clock::now().time_since_epoch()
           )
               .count() +
           clock_offset_ms();
}

std::int64_t SystemClock::steady_ms() const {
    return std::chrono::duration_cast<milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch()
    )
        .count();
}

void SystemClock::sleep(milliseconds duration, const std::function<bool()>& is_cancelled) {
    const auto end = std::chrono::steady_clock::now() + duration;
    while (!is_cancelled || !is_cancelled()) {
        const auto left = end - std::chrono::steady_clock::now();
        if (left <= left.zero()) {
            return;
        }
        std::this_thread::sleep_for(
            std::min<std::chrono::steady_clock::duration>(left, kCancelCheck)
        );
    }
}

std::string iso_time(EpochMs time) {
    using std::chrono::days;
    using std::chrono::floor;
    const std::chrono::sys_time<milliseconds> point{milliseconds{time}};
    const auto day = floor<days>(point);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss<milliseconds> clock{point - day};
    std::array<char, 64> text{};
    std::snprintf(
        text.data(),
        text.size(),
        "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()),
        static_cast<int>(clock.seconds().count()),
        static_cast<int>(clock.subseconds().count())
    );
    return text.data();
}

namespace {

// Reads exactly `digits` decimal digits at `at`; moves `at` behind them.
std::optional<int> take_digits(std::string_view text, std::size_t& at, std::size_t digits) {
    if (at + digits > text.size()) {
        return std::nullopt;
    }
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const char c = text[at + i];
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    at += digits;
    return value;
}

bool take(std::string_view text, std::size_t& at, char wanted) {
    if (at < text.size() && text[at] == wanted) {
        ++at;
        return true;
    }
    return false;
}

}  // namespace

std::optional<EpochMs> find_iso_time(std::string_view text) {
    std::size_t at = 0;
    const auto year = take_digits(text, at, 4);
    const bool dash1 = take(text, at, '-');
    const auto month = take_digits(text, at, 2);
    const bool dash2 = take(text, at, '-');
    const auto day = take_digits(text, at, 2);
    if (!year || !dash1 || !month || !dash2 || !day) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{
        std::chrono::year{*year},
        std::chrono::month{static_cast<unsigned>(*month)},
        std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok()) {
        return std::nullopt;
    }
    milliseconds since = std::chrono::sys_days{date}.time_since_epoch();
    if (at == text.size()) {
        return since.count();
    }
    const bool t = take(text, at, 'T');
    const auto hour = take_digits(text, at, 2);
    const bool colon1 = take(text, at, ':');
    const auto minute = take_digits(text, at, 2);
    const bool colon2 = take(text, at, ':');
    const auto second = take_digits(text, at, 2);
    if (!t || !hour || !colon1 || !minute || !colon2 || !second || *hour > 23 || *minute > 59 ||
        *second > 59) {
        return std::nullopt;
    }
    since +=
        std::chrono::hours{*hour} + std::chrono::minutes{*minute} + std::chrono::seconds{*second};
    if (take(text, at, '.')) {
        int digits = 0;
        int millis = 0;
        for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
            if (digits < 3) {
                millis = millis * 10 + (text[at] - '0');
            }
        }
        if (digits < 1 || digits > 9) {
            return std::nullopt;
        }
        for (int i = digits; i < 3; ++i) {
            millis *= 10;
        }
        since += milliseconds{millis};
    }
    if (!take(text, at, 'Z') || at != text.size()) {
        return std::nullopt;
    }
    return since.count();
}

}  // namespace compute
