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
    long at_pass = 1;
};

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
        const std::string_view number = value.substr(colon + 1);
        std::from_chars(number.data(), number.data() + number.size(), armed.at_pass);
    }
    return armed;
}

}  // namespace

void fail_point(const char* name) noexcept {
    static const Armed kArmed = read_environment();
    static std::atomic<long> passes{0};
    if (!kArmed.name.empty() && kArmed.name == name && ++passes == kArmed.at_pass) {
        std::raise(SIGKILL);
    }
}

}  // namespace compute

#endif
