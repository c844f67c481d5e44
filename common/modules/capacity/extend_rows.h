// Extends by idempotency key: what a repeated call finds of the one before.
#pragma once

#include <optional>
#include <string>

#include "modules/capacity/reservation.h"

namespace compute::capacity {

struct ExtendKey {
    TenantId tenant_id;
    IdentityId identity_id;
    std::string key;
};

struct ExtendRow {
    ExtendKey key;
    ReservationId reservation_id;
    std::string request_hash;
    EpochMs ends_at = 0;
    std::optional<EpochMs> expires_at;  // forgotten then, unless it is done
    std::optional<EpochMs> done_at;
};

[[nodiscard]] std::optional<ExtendRow> find_extend(store::Transaction& tx, const ExtendKey& key);
// Writes or replaces it.
void put_extend(store::Transaction& tx, const ExtendRow& row, EpochMs now);
// Forgets those that were never done, of whatever tenant.
std::int64_t remove_expired_extends(store::Transaction& tx, EpochMs now);
[[nodiscard]] std::optional<EpochMs> first_extend_expiry(store::Transaction& tx);

}  // namespace compute::capacity
