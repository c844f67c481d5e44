// The audit trail: one row per allowed mutation, in the transaction of its change.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/rng.h"
#include "iam/port.h"
#include "store/database.h"

namespace compute::audit {

struct Entry {
    const iam::Caller* caller = nullptr;  // never null when written
    TenantId tenant_id;                   // the tenant it was decided in
    std::string method;                   // "pools/create"
    std::string action;
    iam::ResourceRef resource;  // as decided, with prefix
    std::string decision_reason;
    std::shared_ptr<const Json> admission;  // the draft's context, null for plain mutations
    std::string request_id;
    std::optional<std::string> source_ip;
    std::optional<std::string> parent_id;  // the composite's row id for sub-calls
    std::optional<std::string> id = {};    // taken from new_entry_id() before; made when absent
};

// An id for a row that others name before it is written (a composite's).
[[nodiscard]] std::string new_entry_id(const Clock& clock, Rng& rng);

// Appends one row (`aud_...`) and returns its id. Deferred on PostgreSQL: an error surfaces at the
// commit.
std::string append(store::Transaction& tx, const Entry& entry, const Clock& clock, Rng& rng);

}  // namespace compute::audit
