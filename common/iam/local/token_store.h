// Tokens as rows: made, listed, revoked. The token itself is given out once, by create_token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/rng.h"
#include "crypto/secret.h"
#include "store/database.h"

namespace compute::iam::local {

struct NewToken {
    std::string tenant_id;
    std::string identity_id;
    std::optional<std::string> delegation_id;  // the identity is its agent (or subject; the token
                                               // is the agent's all the same)
    std::optional<std::int64_t>
        lifetime_ms;  // absent: until revoked; a delegation's maxSeconds bounds it
    std::shared_ptr<const Json> scope;  // a policy document that bounds the token; null: none
    std::string created_by;             // "os:alice"
};
struct CreatedToken {
    std::string id;  // tok_...
    crypto::Secret token;
    std::optional<EpochMs> expires_at;
};

// NOT_FOUND when tenant, identity or delegation do not exist; INVALID_INPUT for a scope that is no
// policy, a lifetime below 1 s or above 10 years, and an identity that is no party of the
// delegation.
[[nodiscard]] CreatedToken create_token(
    store::Transaction& tx, const NewToken& wanted, const Clock& clock, Rng& rng
);

struct TokenRow {
    std::string id;
    std::string tenant_id;
    std::string identity_id;
    std::string kind;
    std::optional<std::string> delegation_id;
    bool is_scoped = false;
    EpochMs created_at = 0;
    std::string created_by;
    std::optional<EpochMs> expires_at;
    std::optional<EpochMs> revoked_at;
};
struct TokenFilter {
    std::optional<std::string> tenant_id;
    std::optional<std::string> identity_id;
    int limit = 1000;
};
// Newest first. Never the token nor its hash.
[[nodiscard]] std::vector<TokenRow> list_tokens(
    store::Transaction& tx, const TokenFilter& filter = {}
);

// NOT_FOUND naming the first id that does not exist; nothing is revoked then. Revoking twice keeps
// the first time.
void revoke_tokens(store::Transaction& tx, const std::vector<std::string>& ids, EpochMs now);

enum class Switch { Enable, Disable };
// All sessions of a disabled tenant's or identity's tokens are gone from the next decision on, and
// come back when it is enabled. NOT_FOUND when there is none; INVALID_STATE for the root tenant. An
// identity is named `id` or `tenant/id`; INVALID_INPUT when a bare id stands for several.
void switch_tenant(
    store::Transaction& tx, const std::string& id, Switch to, const std::string& root_tenant
);
void switch_identity(store::Transaction& tx, const std::string& name, Switch to);

// With no identity at all, makes the root tenant, an identity `root` with a policy that allows
// everything, and one token of it; nullopt when there is an identity. Two processes at once: one
// makes it, the other gets nullopt. The caller writes the token down before it commits (see serve):
// a process that dies in between has made nothing.
[[nodiscard]] std::optional<CreatedToken> bootstrap_root(
    store::Transaction& tx, const Clock& clock, Rng& rng, const std::string& root_tenant
);

}  // namespace compute::iam::local
