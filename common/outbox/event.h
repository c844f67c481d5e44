// An event: something that happened to a thing of a tenant.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/ids.h"

namespace compute::outbox {

// What a handler publishes.
struct Event {
    std::string type;  // "pool.created"
    TenantId tenant_id;
    std::string subject;               // "pool/pool_01..."
    std::shared_ptr<const Json> data;  // an object; what the subject's kind promises
};

// A place in the outbox. Readers go in this order; nothing is ever put before a place a reader has
// passed.
struct Position {
    std::int64_t txid = 0;
    std::int64_t seq = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
    [[nodiscard]] std::string str() const {
        return std::to_string(txid) + "." + std::to_string(seq);
    }
};

struct StoredEvent {
    Position position;
    std::string id;  // evt_...
    std::string type;
    TenantId tenant_id;
    std::string subject;
    EpochMs time;
    std::string data;  // JSON text
};

// A family of event types that share a first word: "pool" covers pool.created, pool.updated, ...
struct EventFamily {
    std::string name;         // "pool"; the catalog shows "pool.*"
    std::string subject;      // "pool/{id}"
    std::string module;       // "capacity"
    std::string description;  // one sentence
    std::vector<std::string>
        types;  // every type the code emits, in full; empty for families of the configuration
};

}  // namespace compute::outbox
