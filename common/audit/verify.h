// Verifying the trail: the chain of checkpoints is followed and its signatures judged, and the rows
// are laid beside the leaves that were sealed. A row that was changed, removed or put in is named.
//
// What no verification can see by itself: rows that never were in a checkpoint, and an end of the
// chain that was cut off together with its rows. Against the latter stands the hash of a checkpoint
// that was kept elsewhere (the log, a proof): it must still be in the chain.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/keys.h"
#include "core/clock.h"
#include "crypto/secret_box.h"
#include "store/database.h"

namespace compute::audit {

struct Fault {
    std::optional<std::string> row;
    std::optional<std::int64_t> checkpoint;
    std::string message;
};

struct VerifyOptions {
    std::optional<std::string> tenant_id =
        {};                                  // only this tenant's rows; the chain is followed whole
    std::optional<EpochMs> since = {};       // only what was sealed from then on
    std::optional<std::string> anchor = {};  // the hash of a checkpoint that must be there
    std::vector<std::string> keys = {};      // public keys (base64url) that are trusted by name
};

struct Verification {
    std::int64_t checkpoints = 0;  // judged
    std::int64_t rows = 0;         // compared with their leaves and right
    std::int64_t pruned = 0;       // gone on purpose
    std::int64_t unsealed = 0;     // not in a checkpoint yet
    std::vector<Fault> faults;     // at most kMaxFaults
    bool is_cut = false;           // there were more
    std::int64_t last = 0;         // the last checkpoint, and its hash
    std::string last_hash;
    [[nodiscard]] bool is_ok() const noexcept { return faults.empty(); }
};

inline constexpr std::size_t kMaxFaults = 1'000;

// Reads in short transactions, so that it may go on beside sealing and pruning, in bounded memory.
// `box` null: there is no deployment secret to vouch for keys. `on_progress` hears of checkpoints
// done and of all.
[[nodiscard]] Verification verify(
    store::Database& database,
    const crypto::SecretBox* box,
    const VerifyOptions& options,
    const std::function<void(std::int64_t done, std::int64_t all)>& on_progress = {}
);

}  // namespace compute::audit
