#include "modules/capacity/node_tokens.h"

namespace compute::capacity {
namespace {

constexpr store::Sql kInsert(
    "insert into node_tokens (id, tenant_id, pool_id, token_hash, names, max_uses, uses, "
    "expires_at, created_by, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);
constexpr store::Sql kSelect(
    "select id, tenant_id, pool_id, token_hash, names, max_uses, uses, expires_at, created_by, "
    "created_at from node_tokens where token_hash = $1"
);
constexpr store::Sql kTake(
    "update node_tokens set uses = uses + 1 where tenant_id = $1 and id = $2 and uses < max_uses "
    "and expires_at > $3"
);
// Across tenants: the housekeeping of the deployment.
constexpr store::Sql kPrune("delete from node_tokens where expires_at < $1");

}  // namespace

void insert_node_token(store::Transaction& tx, const NodeToken& token) {
    tx.execute(
        kInsert,
        {token.id,
         token.tenant_id,
         token.pool_id,
         token.token_hash,
         token.names,
         token.max_uses,
         token.uses,
         token.expires_at,
         token.created_by,
         token.created_at}
    );
}

std::optional<NodeToken> find_node_token(store::Transaction& tx, const std::string& token_hash) {
    const auto row = tx.find_row(kSelect, {token_hash});
    if (!row) {
        return std::nullopt;
    }
    return NodeToken{
        .id = row->get_text(0),
        .tenant_id = TenantId(row->get_text(1)),
        .pool_id = PoolId(row->get_text(2)),
        .token_hash = row->get_text(3),
        .names = row->find_text(4),
        .max_uses = row->get_int(5),
        .uses = row->get_int(6),
        .expires_at = row->get_int(7),
        .created_by = row->get_text(8),
        .created_at = row->get_int(9)};
}

bool take_node_token(store::Transaction& tx, const NodeToken& token, EpochMs now) {
    return tx.execute(kTake, {token.tenant_id, token.id, now}) > 0;
}

std::int64_t prune_node_tokens(store::Transaction& tx, EpochMs before) {
    return tx.execute(kPrune, {before});
}

}  // namespace compute::capacity
