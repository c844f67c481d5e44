// The bytes of a delivery: made once, when an event is queued; every attempt and redelivery sends
// them as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "outbox/event.h"

namespace compute::events {

// A larger event is set aside.
inline constexpr std::size_t kMaxBodyBytes = 262'144;

struct BodyParts {
    std::string_view id;
    std::string_view type;
    std::string_view tenant_id;
    std::string_view subject;
    EpochMs time = 0;
    std::string_view sequence;  // "txid.seq", empty for a ping
    std::string_view data;      // JSON text of an object, taken over byte by byte
};

// Exactly the members id, type, tenantId, subject, time (ISO, milliseconds, UTC), sequence, data,
// in this order.
[[nodiscard]] std::string event_body(const BodyParts& parts);

// Why `event` cannot be queued, as one sentence; empty when it can.
[[nodiscard]] std::string why_unqueueable(
    const outbox::StoredEvent& event, const std::string& body
);

}  // namespace compute::events
