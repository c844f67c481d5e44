#include "iam/local/token_store.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "iam/local/document.h"
#include "iam/local/policy.h"
#include "iam/local/token.h"

namespace compute::iam::local {
namespace {

constexpr std::int64_t kMinLifetimeMs = 1'000;
constexpr std::int64_t kMaxLifetimeMs = 10LL * 366 * 24 * 3'600'000;

constexpr store::Sql kFindTenant("select id from iam_tenants where id = $1");
constexpr store::Sql kFindIdentity(
    "select kind from iam_identities where tenant_id = $1 and id = $2"
);
constexpr store::Sql kFindDelegation(
    "select agent, subject, max_seconds from iam_delegations where tenant_id = $1 and id = $2"
);
constexpr store::Sql kInsert(
    "insert into iam_tokens (id, hash, tenant_id, identity_id, kind, delegation_id, scope, "
    "created_at, created_by, expires_at) "
    "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);
constexpr store::Sql kList(
    "select id, tenant_id, identity_id, kind, delegation_id, scope, created_at, created_by, "
    "expires_at, revoked_at "
    "from iam_tokens where ($1 = '' or tenant_id = $1) and ($2 = '' or identity_id = $2) "
    "order by created_at desc, id desc limit $3"
);
constexpr store::Sql kFind("select id from iam_tokens where id = $1");
constexpr store::Sql kRevoke(
    "update iam_tokens set revoked_at = coalesce(revoked_at, $2) where id = $1"
);
constexpr store::Sql kSwitchTenant("update iam_tenants set is_disabled = $2 where id = $1");
constexpr store::Sql kFindByName(
    "select tenant_id, id from iam_identities where ($1 = '' or tenant_id = $1) and id = $2 order "
    "by tenant_id"
);
constexpr store::Sql kSwitchIdentity(
    "update iam_identities set is_disabled = $3 where tenant_id = $1 and id = $2"
);
constexpr store::Sql kLockState(
    "select revision from iam_state where id = 1",
    "select revision from iam_state where id = 1 for update"
);
constexpr store::Sql kAnyIdentity("select id from iam_identities limit 1");

struct Holder {
    std::string identity_id;
    std::string kind;
    std::optional<std::int64_t> max_ms;
};

Holder get_holder(store::Transaction& tx, const NewToken& wanted) {
    if (!tx.find_row(kFindTenant, {wanted.tenant_id})) {
        throw not_found("tenant " + wanted.tenant_id + " does not exist");
    }
    const auto identity = tx.find_row(kFindIdentity, {wanted.tenant_id, wanted.identity_id});
    if (!identity) {
        throw not_found(
            "identity " + wanted.identity_id + " does not exist in tenant " + wanted.tenant_id
        );
    }
    if (!wanted.delegation_id) {
        return {wanted.identity_id, identity->get_text(0), std::nullopt};
    }
    const auto delegation = tx.find_row(kFindDelegation, {wanted.tenant_id, *wanted.delegation_id});
    if (!delegation) {
        throw not_found(
            "delegation " + *wanted.delegation_id + " does not exist in tenant " + wanted.tenant_id
        );
    }
    const std::string& agent = delegation->get_text(0);
    if (wanted.identity_id != agent && wanted.identity_id != delegation->get_text(1)) {
        throw invalid_input(
            "identity: " + wanted.identity_id + " is no party of delegation " +
            *wanted.delegation_id
        );
    }
    return {agent, "agent", delegation->get_int(2) * 1000};
}

std::optional<EpochMs> expiry(const NewToken& wanted, const Holder& holder, EpochMs now) {
    if (wanted.lifetime_ms &&
        (*wanted.lifetime_ms < kMinLifetimeMs || *wanted.lifetime_ms > kMaxLifetimeMs)) {
        throw invalid_input("expires: must be between 1 second and 10 years");
    }
    if (!wanted.lifetime_ms && !holder.max_ms) {
        return std::nullopt;
    }
    return now +
           std::min(
               wanted.lifetime_ms.value_or(kMaxLifetimeMs), holder.max_ms.value_or(kMaxLifetimeMs)
           );
}

}  // namespace

CreatedToken create_token(
    store::Transaction& tx, const NewToken& wanted, const Clock& clock, Rng& rng
) {
    std::optional<std::string> scope;
    if (wanted.scope != nullptr) {
        (void)Policy::compile(*wanted.scope, "scope");
        scope = canonical_json(*wanted.scope);
    }
    const Holder holder = get_holder(tx, wanted);
    const EpochMs now = clock.now_ms();
    CreatedToken created{
        new_id("tok_", clock, rng), make_token(holder.kind, rng), expiry(wanted, holder, now)};
    tx.execute(
        kInsert,
        {created.id,
         token_hash(created.token),
         wanted.tenant_id,
         holder.identity_id,
         holder.kind,
         wanted.delegation_id,
         scope,
         now,
         wanted.created_by,
         created.expires_at}
    );
    return created;
}

std::vector<TokenRow> list_tokens(store::Transaction& tx, const TokenFilter& filter) {
    std::vector<TokenRow> out;
    for (const store::Row& row : tx.query(
             kList, {filter.tenant_id.value_or(""), filter.identity_id.value_or(""), filter.limit}
         )) {
        out.push_back({
            .id = row.get_text(0),
            .tenant_id = row.get_text(1),
            .identity_id = row.get_text(2),
            .kind = row.get_text(3),
            .delegation_id = row.find_text(4),
            .is_scoped = !row.is_null(5),
            .created_at = row.get_int(6),
            .created_by = row.get_text(7),
            .expires_at = row.find_int(8),
            .revoked_at = row.find_int(9),
        });
    }
    return out;
}

void revoke_tokens(store::Transaction& tx, const std::vector<std::string>& ids, EpochMs now) {
    for (const std::string& id : ids) {
        if (!tx.find_row(kFind, {id})) {
            throw not_found("token " + id + " does not exist");
        }
    }
    for (const std::string& id : ids) {
        tx.execute(kRevoke, {id, now});
    }
}

void switch_tenant(
    store::Transaction& tx, const std::string& id, Switch to, const std::string& root_tenant
) {
    if (id == root_tenant && to == Switch::Disable) {
        throw ComputeError(ErrorCode::InvalidState, "the root tenant cannot be disabled");
    }
    if (tx.execute(kSwitchTenant, {id, to == Switch::Disable ? 1 : 0}) == 0) {
        throw not_found("tenant " + id + " does not exist");
    }
}

void switch_identity(store::Transaction& tx, const std::string& name, Switch to) {
    const std::size_t slash = name.find('/');
    const bool is_full = slash != std::string::npos;
    const store::Rows rows = tx.query(
        kFindByName, {is_full ? name.substr(0, slash) : "", is_full ? name.substr(slash + 1) : name}
    );
    if (rows.empty()) {
        throw not_found("identity " + name + " does not exist");
    }
    if (rows.size() > 1) {
        throw invalid_input(
            "identity: " + name + " exists in several tenants; name it tenant/" + name
        );
    }
    tx.execute(
        kSwitchIdentity, {rows[0].get_text(0), rows[0].get_text(1), to == Switch::Disable ? 1 : 0}
    );
}

std::optional<CreatedToken> bootstrap_root(
    store::Transaction& tx, const Clock& clock, Rng& rng, const std::string& root_tenant
) {
    // The lock makes a second process wait until it sees what the first has made.
    (void)tx.get_row(kLockState);
    if (tx.find_row(kAnyIdentity)) {
        return std::nullopt;
    }
    const Json allow_all{
        {"version", 1},
        {"statements",
         Json::array({Json{
             {"sid", "Everything"},
             {"effect", "allow"},
             {"actions", Json::array({"*"})},
             {"resources", Json::array({"*"})}}})}};
    const Json document{
        {"version", 1},
        {"tenants", Json::array({Json{{"id", root_tenant}}})},
        {"policies",
         Json::array({Json{{"tenant", root_tenant}, {"name", "root"}, {"document", allow_all}}})},
        {"identities",
         Json::array({Json{
             {"tenant", root_tenant},
             {"id", "root"},
             {"kind", "user"},
             {"policies", Json::array({"root"})}}})}};
    ApplyOptions options;
    options.root_tenant = root_tenant;
    (void)apply_document(tx, parse_document(document), options, clock.now_ms());
    NewToken wanted;
    wanted.tenant_id = root_tenant;
    wanted.identity_id = "root";
    wanted.created_by = "first-run";
    return create_token(tx, wanted, clock, rng);
}

}  // namespace compute::iam::local
