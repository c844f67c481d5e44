#include "iam/local/session.h"

#include <algorithm>

#include "iam/local/token.h"

namespace compute::iam::local {
namespace {

constexpr store::Sql kSession(
    "select t.id, t.tenant_id, t.identity_id, t.expires_at, t.revoked_at, t.scope, "  // 0-5
    "n.is_disabled, i.kind, i.is_disabled, t.delegation_id, "                         // 6-9
    "d.agent, d.subject, d.scopes, d.confirm, t.created_at + d.max_seconds * 1000, "  // 10-14
    "s.kind, s.is_disabled, v.revision, r.attributes, r.pending, r.owner_id "         // 15-20
    "from iam_tokens t "
    "join iam_tenants n on n.id = t.tenant_id "
    "join iam_identities i on i.tenant_id = t.tenant_id and i.id = t.identity_id "
    "join iam_state v on v.id = 1 "
    "left join iam_delegations d on d.id = t.delegation_id and d.tenant_id = t.tenant_id and "
    "d.agent = t.identity_id "
    "left join iam_identities s on s.tenant_id = t.tenant_id and s.id = d.subject "
    "left join authz_resources r on r.type = $2 and r.id = $3 and r.tenant_id = $4 "
    "where t.hash = $1"
);

[[noreturn]] void refuse() {
    throw ComputeError(ErrorCode::Unauthenticated, "the credential is not valid");
}

// The subject's part of a delegated session; the agent is the token's own identity.
void become_subject(LiveSession& session, const store::Row& row) {
    if (row.is_null(10) || row.is_null(15) || row.get_bool(16)) {
        refuse();
    }
    session.delegation =
        Delegation{row.get_text(9), row.get_text(10), row.get_text(12), row.get_text(13)};
    Caller& caller = session.caller;
    caller.identity_id = IdentityId(row.get_text(11));
    caller.identity_kind = row.get_text(15);
    caller.session_kind = "delegated";
    caller.agent_id = row.get_text(10);
    caller.delegation_id = row.get_text(9);
    caller.expires_at = std::min(caller.expires_at.value_or(row.get_int(14)), row.get_int(14));
}

}  // namespace

LiveSession get_live_session(
    store::Database& database,
    const Clock& clock,
    const crypto::Secret& token,
    const ResourceRef& resource,
    const TenantId& resource_tenant
) {
    if (!is_well_formed(token)) {
        refuse();
    }
    const store::Rows rows = database.query(
        kSession,
        {token_hash(token), resource.type, resource.id, resource_tenant},
        store::Purpose::Iam
    );
    if (rows.empty()) {
        refuse();
    }
    const store::Row& row = rows.front();
    if (!row.is_null(4) || row.get_bool(6) || row.get_bool(8)) {
        refuse();
    }
    LiveSession session;
    session.caller.identity_id = IdentityId(row.get_text(2));
    session.caller.tenant_id = TenantId(row.get_text(1));
    session.caller.identity_kind = row.get_text(7);
    session.caller.session_id = SessionId(row.get_text(0));
    session.caller.session_kind = "token";
    session.caller.expires_at = row.find_int(3);
    session.scope = row.find_text(5);
    session.revision = row.get_int(17);
    session.attributes = row.find_text(18);
    session.pending = row.find_text(19);
    session.owner_id = row.find_text(20);
    if (!row.is_null(9)) {
        become_subject(session, row);
    }
    if (session.caller.expires_at && clock.now_ms() >= *session.caller.expires_at) {
        refuse();
    }
    return session;
}

}  // namespace compute::iam::local
