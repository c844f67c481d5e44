// Sealing: committed audit rows go, in the order of their commits, into Merkle trees, one for each
// tenant; the roots are signed and chained. Whoever writes audit rows takes no part in it and waits
// for nothing.
//
//   rows behind the last sealed place, up to where no transaction is under way  (record.h)
//     -> one leaf each, one tree for each tenant                                (merkle.h)
//     -> checkpoints: signed, each naming the one before it                     (checkpoint.h)
//     -> stored with the leaves, and the place moves on: one transaction
//
// Once an hour everything is sealed that can be. What commits later goes into the next checkpoints,
// whatever its time says: the order is that of the commits, so there is no gap to fall into. A busy
// hour is sealed in several steps, so that memory and transactions stay small.
#pragma once

#include "audit/checkpoint.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "crypto/secret_box.h"
#include "store/database.h"

namespace compute::audit {

inline constexpr EpochMs kSealEveryMs = 3'600'000;
inline constexpr int kSealRows = 20'000;  // at most so many rows in one seal
inline constexpr int kPartRows = 500;     // read at once, and leaves in one row of the database

// What sealing works with. Outlives the call.
struct SealTools {
    store::Database& database;
    const crypto::SecretBox& box;
    const Clock& clock;
    Rng& rng;
    Log& log;
};

struct Sealed {
    std::int64_t rows = 0;
    std::int64_t checkpoints = 0;
    bool is_full = false;  // there may be more to seal at once
};

// Seals once, at most kSealRows rows. Any number of processes may do it at the same moment: one of
// them wins, the others seal nothing. INVALID_CONFIG when the key cannot be opened.
Sealed seal_now(const SealTools& tools);

// The same when the hour has changed since everything was last sealed; otherwise does nothing.
Sealed seal_due(const SealTools& tools);

}  // namespace compute::audit
