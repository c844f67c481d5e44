// `secrets rotate`: signing secrets sealed under a previous deployment secret are sealed again
// under the current one.
#pragma once

#include <cstdint>
#include <functional>

#include "iam/port.h"
#include "method/context.h"

namespace compute::events {

struct RotateReport {
    std::int64_t resealed = 0;
    std::int64_t remaining =
        0;  // not sealed under the current secret yet (a dry run), or unreadable
    std::int64_t unreadable = 0;  // no configured secret opens them
};

// Goes through all webhooks in batches, each in a transaction of its own; may be interrupted and
// repeated. Sealing happens outside the transactions; a secret that was rotated meanwhile is left
// as it is. A dry run only counts. Each batch that changes something leaves an audit row of
// `caller` (secrets/rotate). INVALID_CONFIG without a secret.
enum class RotateMode { Reseal, DryRun };
RotateReport rotate_webhook_secrets(
    const method::Runtime& runtime,
    const iam::Caller& caller,
    RotateMode mode,
    const std::function<void(const RotateReport&)>& on_batch = {}
);

}  // namespace compute::events
