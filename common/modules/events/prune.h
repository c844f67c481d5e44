// Pruning: settled history goes when it is old enough, counted from when it was queued; pending
// deliveries never do.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.h"
#include "method/context.h"
#include "modules/events/history.h"
#include "store/database.h"

namespace compute::events {

inline constexpr std::int64_t kDayMs = 86'400'000;

// Deletes one batch of at most `limit` deliveries, with their attempts and with bodies nobody needs
// any more, in one transaction, so that a process that dies halfway leaves either all of them or
// none: what deleted webhooks left behind first, then what `retention` says
// (nullopt keeps everything else). Returns how many went; `limit` of them means there may be more.
// For hosts that schedule pruning themselves, too.
int prune_webhook_deliveries(
    store::Database& database,
    const std::optional<config::Retention>& retention,
    EpochMs now,
    int limit = kPruneRows
);

// One run of events.prune: a batch of deliveries and a batch of outbox rows past every cursor and
// older than the configuration keeps. True when either came back full.
bool run_prune(const method::Runtime& runtime);

}  // namespace compute::events
