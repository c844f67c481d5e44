// How often one address may fail to prove who it is: a bucket of failures for each, refilled over
// time. Who proves it is never slowed down, however many agents share the address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/guarded.h"

namespace compute::daemon::agents {

// Thread-safe.
class FailureLimit {
public:
    static constexpr std::int64_t kBurst = 30;
    static constexpr std::int64_t kRefillMs = 2000;  // for one failure

    // Counts one. `now_ms` is steady time.
    void count(const std::string& address, std::int64_t now_ms);
    // How long the address has to wait; nullopt: it may try.
    [[nodiscard]] std::optional<std::int64_t> find_wait_ms(
        const std::string& address, std::int64_t now_ms
    ) const;

private:
    // Beyond it addresses that are clean again are forgotten, and then all of them: a flood of
    // addresses costs no memory.
    static constexpr std::size_t kMaxAddresses = 8192;

    // The time at which the bucket is clean again tells how full it is.
    Guarded<std::unordered_map<std::string, std::int64_t>> clean_at_;
};

}  // namespace compute::daemon::agents
