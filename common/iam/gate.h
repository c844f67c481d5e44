// The gate: the IAM port with the contract's two caches in front of it. The envelope asks the gate.
//
// Authentications are cached for 30 s by the SHA-256 of the credential, allowed read decisions for
// 10 s per session. Only allows are kept; both caches are capped, never outlive the credential, and
// drop an entry when the IAM answers UNAUTHENTICATED. Mutations always ask. Source: spec/methods,
// "How a call runs"; settled.md, IAM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/clock.h"
#include "iam/port.h"

namespace compute::iam {

inline constexpr int kAuthCacheMs = 30'000;
inline constexpr int kReadCacheMs = 10'000;

struct GateOptions {
    int auth_cache_ms = kAuthCacheMs;  // at most kAuthCacheMs
    int read_cache_ms = kReadCacheMs;
    std::size_t max_entries = 10'000;  // of each cache; the oldest go first
};

// Thread-safe.
class Gate {
public:
    Gate(IamPort& port, Clock& clock, GateOptions options = {});
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    // The session of a credential; UNAUTHENTICATED or IAM_UNAVAILABLE otherwise.
    [[nodiscard]] Session authenticate(const crypto::Secret& credential);

    // One `authorize`, or a cached allow.
    [[nodiscard]] Decision decide_read(const Session& session, const Question& question);

    // One `require`; never cached.
    [[nodiscard]] Decision decide_mutation(const Session& session, const Question& question);

    // Drops the session's cached read allows: after its own mutation it must see what it changed.
    void forget_reads(const Session& session);

    [[nodiscard]] IamPort& port() noexcept;

    // Whether an authentication is cached under exactly these bytes.
    [[nodiscard]] bool caches_credential_as_for_test(std::string_view key) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::iam
