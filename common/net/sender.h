// The sender: one thread and one libcurl multi loop that POSTs attempts of many lanes. A lane is a
// FIFO: its attempts go out one at a time, in the order they were submitted, and however slow one
// lane is, the others go on. The owner decides right before each send (a lease may have to be
// renewed first) and is told each outcome exactly once.
//
// What is guaranteed of each attempt: one deadline covers resolving, connecting, TLS, sending and
// the answer. The name is resolved for this very attempt, every address is judged, and the
// connection, a kept one included, goes to one of those addresses and nowhere else. HTTP/1.1, no
// redirects, no proxy, no cookies, no decompression. The answer counts once its whole header block
// is in; nothing that follows can change the result. Memory and connections are bounded whatever a
// receiver sends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "net/address_guard.h"
#include "net/header_block.h"
#include "net/url.h"

namespace compute {
class Log;
}

namespace compute::net {

class Resolver;

using LaneKey = std::uint64_t;

// One POST to make.
struct Attempt {
    std::uint64_t id = 0;  // the owner's; comes back with the result
    LaneKey lane = 0;
    std::shared_ptr<const Url> url;           // shared by the attempts of a lane
    std::shared_ptr<const std::string> body;  // sent as it is, never copied
    std::chrono::milliseconds timeout{10000};
};

enum class Outcome {
    NotSent,   // no byte of the request left this process
    Unknown,   // it was sent, wholly or in part, and no complete answer came
    Answered,  // status and the whole header block came in time
};

// `Retry-After` of a 429 or 503, as it was sent.
struct RetryAfter {
    std::optional<std::int64_t> seconds;
    std::optional<EpochMs> at;
};

// Where the time went, in milliseconds from the start of the attempt; 0 when the phase was not
// reached or not needed.
struct Timings {
    double resolve_ms = 0;
    double connect_ms = 0;
    double tls_ms = 0;
    double first_byte_ms = 0;
    double total_ms = 0;
};

struct AttemptResult {
    std::uint64_t id = 0;
    LaneKey lane = 0;
    Outcome outcome = Outcome::NotSent;
    bool is_cancelled = false;  // never tried, or broken off by stop(); see `outcome`
    std::optional<int> status;  // exactly when Answered
    std::optional<RetryAfter> retry_after;
    // For the tenant: what went wrong, empty for a 2xx. At most 256 bytes of printable ASCII; never
    // an address.
    std::string error;
    std::string detail;          // for the operator's log: may name addresses
    std::string remote_address;  // of the connection used, empty when there was none
    bool is_reused = false;      // the connection was a kept one
    Timings timings;

    [[nodiscard]] bool is_success() const noexcept {
        return status && *status >= 200 && *status <= 299;
    }
};

enum class Go {
    Send,  // now, with the headers filled in
    Hold,  // the lane waits until resume(lane); then it is asked again about the same attempt
    Drop,  // not to be sent any more: reported as cancelled
};

// The owner's side. Every function is called on the sender's thread and must not block; it may call
// submit(), resume() and drop_lane().
class SenderOwner {
public:
    virtual ~SenderOwner() = default;
    // Asked right before `attempt` is sent (its deadline starts when this returns Send). Adds the
    // request's headers: Content-Type, User-Agent, signature, ...; Host and Content-Length are the
    // sender's.
    virtual Go before_send(const Attempt& attempt, HeaderBlock& headers) = 0;
    virtual void on_result(AttemptResult result) = 0;
};

struct SenderOptions {
    GuardRules guard;
    std::string ca_file;             // empty: the system's bundle
    int max_in_flight = 256;         // attempts under way; more lanes wait for their turn
    int max_idle_connections = 256;  // kept for later
    std::string name = "sender";     // of the thread, at most 15 characters
};

// submit(), resume(), drop_lane() and stop() are thread-safe. Destroying a running sender is stop(0
// ms).
class Sender {
public:
    // `owner`, `resolver` and `log` outlive the sender. Throws INVALID_CONFIG when ca_file cannot
    // be read.
    Sender(SenderOptions options, SenderOwner& owner, Resolver& resolver, Log& log);
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    // Queues behind what its lane holds. After stop() it is reported as cancelled at once, on the
    // caller's thread.
    void submit(Attempt attempt);
    void submit(std::vector<Attempt> attempts);
    // The lane was held and may be asked again. Does nothing otherwise.
    void resume(LaneKey lane);
    // What waits in the lane is reported as cancelled; the attempt under way goes on.
    void drop_lane(LaneKey lane);
    // What waits is reported as cancelled at once. Returns at once.
    void begin_stop();
    // begin_stop(), then waits for the attempts under way; those not finished after `bound` are
    // broken off (outcome by what was sent). When it returns, every attempt has been reported and
    // the thread has ended.
    void stop(std::chrono::milliseconds bound);

private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

}  // namespace compute::net
