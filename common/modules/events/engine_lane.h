// What the engine keeps in memory of a lane it holds and of a row it claimed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "crypto/secret.h"
#include "modules/events/queue.h"
#include "modules/events/signing.h"
#include "net/url.h"

namespace compute::events {

// A webhook's secrets as they were opened; `is_readable` false when they could not be.
struct LaneSecrets {
    std::string sealed;  // what was opened, to see when it changed
    std::string sealed_previous;
    bool is_readable = false;
    crypto::Secret current;
    std::optional<crypto::Secret> previous;
};

struct Lane {
    std::int64_t webhook = 0;
    std::string webhook_id;
    std::int64_t revision = 0;
    std::shared_ptr<const net::Url> url;  // shared with the attempts in the loop
    std::unique_ptr<Signer> signer;       // used by the lane's loop alone
    EpochMs previous_expires_at = 0;      // 0: no previous secret
    bool is_in_slow_loop = false;
    LaneClass lane_class = LaneClass::Unproven;  // as it will be given back
    bool is_careful = false;
    bool is_ending = false;  // nothing more is claimed for it
    bool is_lost = false;    // not ours any more: nothing of it is sent
    EpochMs lease_until = 0;
    int rows = 0;               // in the loop
    int session_rows = 0;       // claimed since it was picked
    EpochMs last_next_at = -1;  // place of the last row claimed
    std::int64_t last_seq = -1;
    bool wants_renewal = false;
    std::int64_t wants_mark = 0;  // seq of the row that is held until it is marked
};

struct HeldRow {
    std::int64_t webhook = 0;
    std::int64_t event = 0;
    std::string id;
    std::string type;
    std::shared_ptr<const std::string> body;  // shared with the attempt in the loop
    int attempt = 0;
    int round = 0;
    bool needs_mark = false;
    EpochMs started_at = 0;
};

}  // namespace compute::events
