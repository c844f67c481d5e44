#include "cli/interrupt.h"

#include <csignal>

namespace compute::cli {

namespace {

// What a signal handler may touch; nothing else in the program is global.
volatile std::sig_atomic_t interrupted = 0;

void on_signal(int number) {
    interrupted = 1;
    std::signal(number, SIG_DFL);
}

}  // namespace

void watch_interrupts() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
}

bool is_interrupted() noexcept {
    return interrupted != 0;
}

}  // namespace compute::cli
