// Host names to addresses. The sender asks here, judges what comes back and pins the connection to
// it; libcurl never resolves.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/address.h"

namespace compute::net {

enum class ResolveStatus { Ok, NotFound, Failed, TimedOut };

struct ResolveResult {
    ResolveStatus status = ResolveStatus::Failed;
    std::vector<IpAddress>
        addresses;       // every address, in the order to try them; not empty exactly when Ok
    std::string detail;  // for the log
};

// Thread-safe.
class Resolver {
public:
    virtual ~Resolver() = default;

    // Looks `host` up (a name, no literal) and calls `done` exactly once: on the caller's thread
    // before this returns, or on a thread of the resolver, at the latest when `timeout` has passed
    // (TimedOut). The lookup begins after this call. `done` must not block.
    virtual void resolve(
        const std::string& host,
        std::chrono::milliseconds timeout,
        std::function<void(ResolveResult)> done
    ) = 0;
};

struct ResolverOptions {
    int threads = 8;         // lookups under way at once
    int max_threads = 64;    // more are started while all of those hang
    int max_waiting = 4096;  // lookups beyond are Failed at once
};

// One lookup, blocking.
using Lookup = std::function<ResolveResult(const std::string& host)>;

// Runs `lookup` on a bounded pool of threads. One host has at most one lookup under way, so a name
// that hangs holds one thread; callers that ask for it meanwhile share the next one. The destructor
// answers what is open (Failed) and does not wait for lookups that hang.
[[nodiscard]] std::unique_ptr<Resolver> make_pool_resolver(
    Lookup lookup, const ResolverOptions& options = {}
);

// The pool over getaddrinfo: /etc/hosts, DNS, whatever the host is set up for.
[[nodiscard]] std::unique_ptr<Resolver> make_system_resolver(const ResolverOptions& options = {});

}  // namespace compute::net
