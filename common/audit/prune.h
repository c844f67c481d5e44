// Pruning audit rows that were kept long enough. Only sealed rows go, oldest commit first, and the
// place up to which they are gone is signed: verification tells them from rows that somebody
// removed. The checkpoints over them stay.
#pragma once

#include "audit/sealer.h"
#include "core/clock.h"

namespace compute::audit {

inline constexpr int kPruneRows = 2'000;  // in one transaction

// Deletes the oldest rows, at most `limit`, as far as all of them happened before `before` and are
// sealed, with the leaves of seals that have no row left; moves the signed place on in the same
// transaction. Returns how many went. INVALID_CONFIG when the key cannot be opened.
int prune_rows(const SealTools& tools, EpochMs before, int limit = kPruneRows);

}  // namespace compute::audit
