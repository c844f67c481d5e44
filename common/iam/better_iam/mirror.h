// The mirror: rows of the authz projection made known to the remote IAM, which cannot be handed
// attributes with a question.
//
// A row is sent when its version (updated_at, which grows with every write) is not the one sent
// last; the version is marked after the remote IAM has taken it, so a process that dies in between
// sends it again, which is harmless. One process at a time sends a row, under a lease, or an older
// version could arrive behind a newer one.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/rng.h"
#include "iam/better_iam/wire.h"
#include "iam/resource.h"
#include "store/database.h"

namespace compute::iam::better_iam {

inline constexpr std::chrono::milliseconds kMirrorWait{
    2'000};  // how long a decision waits for its resource

// Thread-safe.
class Mirror {
public:
    // Sends one call of group `resources` under the service key.
    using Send = std::function<
        Answer(const std::string& path, const Json& body, std::chrono::milliseconds timeout)>;

    Mirror(
        store::Database& database, Clock& clock, Rng& rng, std::string resource_prefix, Send send
    );

    // Returns once the remote IAM knows the row's current version; at once when there is no such
    // row. `resource` has no prefix. IAM_UNAVAILABLE after kMirrorWait.
    void bring(const ResourceRef& resource);

    // Sends at most `limit` rows that wait and returns how many it did. A row that fails is
    // skipped, the first error thrown at the end.
    int bring_waiting(int limit);

private:
    enum class Step { Done, Busy, Sent };
    [[nodiscard]] Step try_once(const ResourceRef& resource, std::chrono::milliseconds timeout);
    void send(
        const ResourceRef& resource, const store::Row& row, std::chrono::milliseconds timeout
    );
    [[nodiscard]] std::vector<ResourceRef> waiting(int limit);

    store::Database& database_;
    Clock& clock_;
    Rng& rng_;
    std::string resource_prefix_;
    Send send_;
    std::atomic<EpochMs> seen_until_{0};  // rows changed long before that are known to be sent
};

}  // namespace compute::iam::better_iam
