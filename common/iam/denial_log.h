// The denial log: refusals wait in a bounded ring in memory and are written out by a reconciler, so
// that a refused request never opens a transaction. The table keeps the newest 10,000.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/guarded.h"
#include "iam/port.h"
#include "store/database.h"

namespace compute::iam {

inline constexpr std::size_t kDenialRing = 4'096;
inline constexpr std::int64_t kDenialRows = 10'000;

struct Denial {
    EpochMs at = 0;
    std::string tenant_id;  // it was decided in
    std::string identity_tenant_id;
    std::string identity_id;
    std::string session_id;
    std::string action;
    ResourceRef resource;
    std::string reason;
    std::optional<std::string> source_ip;
};

// Thread-safe.
class DenialLog {
public:
    explicit DenialLog(const Clock& clock) : clock_(clock) {}

    // Never waits for anything but its own mutex. When the ring is full the oldest is lost, and
    // counted.
    void record(const Session& session, const Question& question, const std::string& reason);

    // Writes out what waits and trims the table; returns how many were written. What could not be
    // written waits on, at the front. A process that dies takes what waits with it: the log is for
    // people, the audit trail is not in it.
    int flush(store::Database& database);

    [[nodiscard]] std::uint64_t lost() const;

private:
    struct Ring {
        std::deque<Denial> waiting;
        std::uint64_t lost = 0;
    };
    const Clock& clock_;
    Guarded<Ring> ring_;
};

// Newest first; of one tenant when given.
[[nodiscard]] std::vector<Denial> list_denials(
    store::Transaction& tx, const std::optional<std::string>& tenant_id, int limit
);

}  // namespace compute::iam
