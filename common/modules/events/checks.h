// What `doctor` and `/metrics` say about webhooks. Every check reads the database and the
// configuration and nothing else.
#pragma once

#include <memory>
#include <vector>

#include "method/module.h"
#include "modules/events/engine.h"

namespace compute::events {

inline constexpr std::int64_t kBacklogRows = 1'000;         // more than so many deliveries ...
inline constexpr std::int64_t kBacklogLateMs = 5 * 60'000;  // ... later than this are a backlog
inline constexpr std::int64_t kFanoutLagMs = 60'000;
inline constexpr std::int64_t kPruneBehindMs = 2 * 86'400'000;  // past the end of its retention

// events.webhook-dead-letters, events.webhook-backlog, events.fanout-lag, events.set-aside,
// events.unreadable-secrets, events.secret-rotation-pending, events.prune-behind,
// events.never-sent.
[[nodiscard]] std::vector<method::Check> checks();

[[nodiscard]] std::vector<method::Gauge> gauges(std::shared_ptr<const EngineCounters> counters);

}  // namespace compute::events
