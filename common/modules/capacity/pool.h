// A pool: a named set of nodes of one owner tenant with one placement policy. It may be shared with
// other tenants, who then see it (marked `shared`) and place in it, but cannot change it. Node
// groups declare the nodes that are expected to join.
//
// Rows: `pools` holds one row per pool, deleted ones included (a replayed create must find them);
// `pool_shares` and `expected_nodes` are what its lists look like to SQL, written only by this file
// and always in the transaction that writes the pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "capacity/pool_settings.h"
#include "core/clock.h"
#include "core/ids.h"
#include "method/context.h"
#include "store/database.h"

namespace compute::capacity {

using PoolId = StrongId<struct PoolTag>;

inline constexpr const char* kPoolType = "pool";
inline constexpr const char* kPoolPrefix = "pool_";

struct Pool {
    PoolId id;
    TenantId tenant_id;
    std::string name;
    PoolSettings settings;
    std::int64_t version = 1;
    std::string created_by;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;
    std::optional<EpochMs> deleted_at;
    std::optional<std::string> request_hash;  // of the create, when it carried an idempotency key
};

// The pool as `viewer` may see it: to others than the owner `shared` is true and the owner's own
// lists are left out.
[[nodiscard]] Json pool_json(const Pool& pool, const TenantId& viewer);

enum class Reach { Own, OwnOrShared };
// Deleted pools are found only by find_own_pool.
[[nodiscard]] std::optional<Pool> find_own_pool(
    store::Transaction& tx, const TenantId& tenant, const PoolId& id
);
// NOT_FOUND in the same words for a pool that is deleted, another tenant's, or was never there.
[[nodiscard]] Pool get_pool(
    store::Transaction& tx, const TenantId& tenant, const PoolId& id, Reach reach
);
[[nodiscard]] std::optional<PoolId> find_pool_by_name(
    store::Transaction& tx, const TenantId& tenant, const std::string& name
);

struct PoolFilter {
    std::optional<std::string> name;
    std::optional<std::string> packing;
    std::optional<std::string> sharing;
    std::optional<bool> shared;             // true: only others' pools, false: only own
    std::optional<std::string> after_name;  // the page behind this (name, id)
    std::optional<std::string> after_id;
    std::int64_t limit = 50;
};
// Alive pools the tenant owns or shares, by (name, id).
[[nodiscard]] std::vector<Pool> list_pools(
    store::Transaction& tx, const TenantId& tenant, const PoolFilter& filter
);

// False when the id or (among the tenant's alive pools) the name is taken; then nothing was
// written.
[[nodiscard]] bool insert_pool(store::Transaction& tx, const Pool& pool);
struct ChangedLists {
    bool has_shares = true;
    bool has_nodes = true;
};
// Writes settings, the lists that changed and version + 1, if the stored version still is
// `pool.version`; false otherwise.
[[nodiscard]] bool update_pool(store::Transaction& tx, const Pool& pool, ChangedLists lists);
// Marks it deleted under the same condition and removes its shares and expected nodes.
[[nodiscard]] bool mark_pool_deleted(store::Transaction& tx, const Pool& pool);

// What the authz projection keeps of a pool, and the event about it.
void project_pool(const method::Context& context, store::Transaction& tx, const Pool& pool);
void publish_pool(
    const method::Context& context,
    store::Transaction& tx,
    const Pool& pool,
    const std::string& type,
    const std::vector<std::string>& changed = {}
);

}  // namespace compute::capacity
