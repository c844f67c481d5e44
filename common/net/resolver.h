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
    int threads =
        8;  // lookups under way at once; a hung one holds its thread until the system gives up
    int max_threads = 64;    // more are started while all are hung
    int max_waiting = 4096;  // lookups beyond are Failed at once
};

// getaddrinfo on a bounded pool of threads: /etc/hosts, DNS, whatever the host is set up for.
// Lookups of one host that both still wait are made once. The destructor answers what waits
// (Failed) and does not wait for lookups that hang.
[[nodiscard]] std::unique_ptr<Resolver> make_system_resolver(const ResolverOptions& options = {});

}  // namespace compute::net
