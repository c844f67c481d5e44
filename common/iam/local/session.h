// The session behind a token, as the database has it right now, together with what else one
// decision needs: read in a single statement, so that a revocation, a disabled identity or a
// changed policy counts from the next decision on, in every process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "iam/port.h"
#include "store/database.h"

namespace compute::iam::local {

struct Delegation {
    std::string id;
    std::string agent;
    std::string scopes;   // JSON list of action patterns
    std::string confirm;  // JSON list of action patterns
};

struct LiveSession {
    Caller caller;
    std::optional<std::string> scope;      // the key scope: text of a policy document
    std::optional<Delegation> delegation;  // then the caller is its subject
    std::int64_t revision = 0;             // of iam_state
    // The row of the authz projection that was asked for, when there is one in the tenant.
    std::optional<std::string> attributes;
    std::optional<std::string> pending;
    std::optional<std::string> owner_id;
};

// UNAUTHENTICATED when the token is malformed, unknown, expired or revoked, or when its identity,
// tenant or delegation is disabled or gone: one message for all of them. `resource` has no prefix.
[[nodiscard]] LiveSession get_live_session(
    store::Database& database,
    const Clock& clock,
    const crypto::Secret& token,
    const ResourceRef& resource = {},
    const TenantId& resource_tenant = {}
);

}  // namespace compute::iam::local
