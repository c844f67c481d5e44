// Enrolment tokens: who holds one may join nodes to its pool. The token is shown once, when it is
// made; the row keeps its hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "modules/capacity/pool.h"
#include "store/database.h"

namespace compute::capacity {

inline constexpr const char* kNodeTokenPrefix = "ntk_";

struct NodeToken {
    std::string id;
    TenantId tenant_id;
    PoolId pool_id;
    std::string token_hash;
    std::optional<std::string> names;  // bracket list of those that may join; absent: any
    std::int64_t max_uses = 1;
    std::int64_t uses = 0;
    EpochMs expires_at = 0;
    std::string created_by;
    EpochMs created_at = 0;
};

void insert_node_token(store::Transaction& tx, const NodeToken& token);

// By the hash of what was presented: the tenant is what the token says. Expired and used ones too.
[[nodiscard]] std::optional<NodeToken> find_node_token(
    store::Transaction& tx, const std::string& token_hash
);

// Counts a use; false when none is left or it has expired. Of many at once as many succeed as uses
// are left.
[[nodiscard]] bool take_node_token(store::Transaction& tx, const NodeToken& token, EpochMs now);

// Removes what expired before `before`; returns how many.
std::int64_t prune_node_tokens(store::Transaction& tx, EpochMs before);

}  // namespace compute::capacity
