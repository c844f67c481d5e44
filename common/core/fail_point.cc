#include "core/fail_point.h"

#ifdef COMPUTE_FAIL_POINTS

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace compute {
namespace {

struct Armed {
    std::string name;
    std::int64_t at_pass = 1;
};

std::int64_t number_in(std::string_view text, std::int64_t otherwise) {
    std::int64_t number = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

Armed read_environment() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before anything changes the environment
    const char* text = std::getenv("BETTER_COMPUTE_FAIL_POINT");
    Armed armed;
    if (text == nullptr) {
        return armed;
    }
    const std::string_view value(text);
    const auto colon = value.find(':');
    armed.name = std::string(value.substr(0, colon));
    if (colon != std::string_view::npos) {
        armed.at_pass = number_in(value.substr(colon + 1), 1);
    }
    return armed;
}

std::int64_t read_offset() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
    const char* text = std::getenv("BETTER_COMPUTE_CLOCK_OFFSET_MS");
    return text == nullptr ? 0 : number_in(text, 0);
}

}  // namespace

void fail_point(const char* name) noexcept {
    static const Armed kArmed = read_environment();
    static std::atomic<std::int64_t> passes{0};
    if (!kArmed.name.empty() && kArmed.name == name && ++passes == kArmed.at_pass) {
        std::raise(SIGKILL);
    }
}

std::int64_t clock_offset_ms() noexcept {
    static const std::int64_t kOffset = read_offset();
    return kOffset;
}

}  // namespace compute

#endif
