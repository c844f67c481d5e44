// What became of the calls: counted by method and code, logged once each, refusals kept for the
// denial log.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/latency.h"
#include "core/log.h"
#include "iam/resource.h"
#include "method/registry.h"

namespace compute::method {

// A call that was refused for lack of authority: UNAUTHENTICATED, ACCESS_DENIED or
// CONFIRMATION_REQUIRED.
struct Refusal {
    EpochMs time = 0;
    ErrorCode code = ErrorCode::AccessDenied;
    std::string path;
    std::string request_id;
    std::string identity_id;  // empty when nobody was authenticated
    std::string
        tenant_id;  // the tenant it would have been decided in; empty when it did not come so far
    std::string action;
    iam::ResourceRef resource;  // with prefix; empty when it did not come so far
    std::string reason;         // what the IAM said; for the operator, never for the caller
    std::string source_ip;
};

// Takes refusals; must neither block nor throw, for it is called on the way of an answer.
// Thread-safe.
class DenialSink {
public:
    virtual ~DenialSink() = default;
    virtual void add(const Refusal& refusal) noexcept = 0;
};

struct OutcomeCount {
    std::string path;  // of a registered method; empty for everything else
    std::string code;  // "OK" or the error's wire name
    std::uint64_t count;
};
struct DurationSum {
    std::string path;
    std::uint64_t count;
    std::uint64_t total_us;
};

// Thread-safe; counting takes no lock.
class Outcomes {
public:
    explicit Outcomes(const Registry& registry);

    void count(
        const RegisteredMethod* method, std::optional<ErrorCode> code, std::uint64_t duration_us
    ) noexcept;
    // Those above zero.
    [[nodiscard]] std::vector<OutcomeCount> counts() const;
    [[nodiscard]] std::vector<DurationSum> durations() const;

    // How long the IAM took for the decisions, cached ones included.
    [[nodiscard]] LatencyHistogram& decisions() noexcept { return decisions_; }
    [[nodiscard]] const LatencyHistogram& decisions() const noexcept { return decisions_; }

private:
    static constexpr std::size_t kSlots =
        static_cast<std::size_t>(ErrorCode::IamUnavailable) + 2;  // the last is success
    struct Slots {
        std::string path;
        std::array<std::atomic<std::uint64_t>, kSlots> by_code{};
        std::atomic<std::uint64_t> total_us{0};
    };
    std::unordered_map<const RegisteredMethod*, std::unique_ptr<Slots>> slots_;
    LatencyHistogram decisions_;
};

}  // namespace compute::method
