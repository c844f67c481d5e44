// Waiting for work that finishes after its call was committed. Nothing here can undo the call: a
// timeout answers what is known.
#include <algorithm>

#include "method/passage.h"

namespace compute::method {
namespace {

constexpr std::int64_t kFirstGapMs = 50;
constexpr std::int64_t kLongestGapMs = 1'000;
constexpr std::int64_t kLongestWaitMs = 30'000;

std::int64_t wanted_wait_ms(const Json& raw) {
    const auto wait = raw.find("wait");
    if (wait == raw.end() || !wait->is_object()) {
        return 0;
    }
    const auto timeout = wait->find("timeoutMs");
    if (timeout == wait->end() || !timeout->is_number()) {
        return 0;
    }
    // As a double: a number of any size is clamped before it is a count of milliseconds.
    return static_cast<std::int64_t>(
        std::clamp(timeout->get<double>(), 0.0, static_cast<double>(kLongestWaitMs))
    );
}

// Tells the server that this thread waits, so that it can lend it.
class Waiting {
public:
    explicit Waiting(const Call& call) : call_(call) {
        if (call_.on_wait) {
            call_.on_wait(true);
        }
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() {
        if (call_.on_wait) {
            call_.on_wait(false);
        }
    }

private:
    const Call& call_;
};

}  // namespace

Json wait_until_done(const Passage& passage, Json output) {
    const auto& poll = passage.method.definition.poll;
    if (!poll) {
        return output;
    }
    const std::int64_t wait_ms = wanted_wait_ms(passage.raw);
    if (wait_ms == 0 || poll->done(output)) {
        return output;
    }
    const Waiting waiting(passage.call);
    Clock& clock = passage.runtime.clock;
    const std::int64_t deadline = clock.steady_ms() + wait_ms;
    std::int64_t gap = kFirstGapMs;
    while (!passage.call.abort()) {
        const std::int64_t left = deadline - clock.steady_ms();
        if (left <= 0) {
            break;
        }
        clock.sleep(std::chrono::milliseconds(std::min(gap, left)), passage.call.abort);
        gap = std::min(gap * 2, kLongestGapMs);
        if (passage.call.abort()) {
            break;
        }
        try {
            output = passage.runtime.database.read([&](store::Transaction& tx) {
                Context context = context_of(passage, &tx);
                return poll->refresh(context, passage.input, output);
            });
        } catch (const ComputeError& error) {
            // The call is committed: a database that is busy for a moment is no news about it.
            if (!error_info(error.code()).is_retryable) {
                throw;
            }
            continue;
        }
        if (poll->done(output)) {
            break;
        }
    }
    return output;
}

}  // namespace compute::method
