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
#include "iam/resource.h"
#include "store/database.h"

namespace compute::iam {

inline constexpr std::size_t kDenialRing = 4'096;
inline constexpr std::int64_t kDenialRows = 10'000;

// What a call did not come so far as to know is empty.
struct Denial {
    EpochMs at = 0;
    std::string code;  // on the wire: "ACCESS_DENIED"
    std::string path;
    std::string request_id;
    std::string tenant_id;  // it would have been decided in
    std::string identity_id;
    std::string action;
    ResourceRef resource;  // with prefix
    std::string reason;    // for the operator, never for the caller
    std::string source_ip;
};

// Thread-safe.
class DenialLog {
public:
    // Never waits for anything but its own mutex. When the ring is full the oldest is lost, and
    // counted.
    void record(Denial denial);

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
    Guarded<Ring> ring_;
};

// Newest first; of one tenant when given.
[[nodiscard]] std::vector<Denial> list_denials(
    store::Transaction& tx, const std::optional<std::string>& tenant_id, int limit
);

}  // namespace compute::iam
