// The one way through. Whoever calls - HTTP, the command line, a composite - comes through here:
//
//   find method -> credential present -> validate -> authenticate -> resource() -> tenant pre-check -> decide
//     -> transaction { handler; audit row; outbox rows } -> commit -> [poll]
//
// Nothing after a failing step runs. No IAM call is made while a transaction is open.
// An admission splits it: transaction { prepare } (read-only when prepare keeps no draft) -> decide -> check -> transaction { handler; audit } and, in transactions of
// their own, `denied` after a refusal and `abandoned` after an allowed handler threw.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "method/context.h"
#include "method/outcomes.h"
#include "method/registry.h"

namespace compute::method {

struct Call {
    std::string path;  // "pools/create"
    Json input;        // an object
    std::optional<crypto::Secret> credential;
    std::string request_id;
    std::optional<std::string> source_ip;
    AbortToken abort;  // empty: never
    // Told when the call starts and stops waiting (poll), so that a server can lend its thread; may be empty.
    std::function<void(bool is_waiting)> on_wait;
};

struct EnvelopeOptions {
    DenialSink* denials = nullptr;  // told of every refusal; null: nobody is. Outlives the envelope.
};

// Thread-safe. `registry` is complete, and it and `runtime` outlive the envelope.
class Envelope {
public:
    Envelope(const Registry& registry, const Runtime& runtime, EnvelopeOptions options = {});
    ~Envelope();
    Envelope(const Envelope&) = delete;
    Envelope& operator=(const Envelope&) = delete;

    // Runs one call and returns its output. Throws ComputeError; anything else that was thrown inside has been logged and
    // became INTERNAL_ERROR.
    [[nodiscard]] Json run(Call call);

    // Runs a call as `session` with a port of its own (deployment commands: the operating-system user). Validation, pre-check,
    // decision and audit are the same.
    [[nodiscard]] Json run_as(const iam::Session& session, iam::IamPort& port, Call call);

    // What became of the calls so far, for metrics.
    [[nodiscard]] const Outcomes& outcomes() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::method
