#include "audit/audit.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::audit {
namespace {

constexpr store::Sql kInsert =
    "insert into audit_events (id, time, tenant_id, identity_id, identity_kind, actor_tenant_id, "
    "session_id, session_kind, agent_id, "
    "delegation_id, method, action, resource_type, resource_id, decision_reason, admission, "
    "request_id, source_ip, parent_id) "
    "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";

}  // namespace

std::string new_entry_id(const Clock& clock, Rng& rng) {
    return new_id("aud_", clock, rng);
}

std::string append(store::Transaction& tx, const Entry& entry, const Clock& clock, Rng& rng) {
    if (entry.caller == nullptr) {
        throw internal_error("an audit row without a caller");
    }
    const iam::Caller& caller = *entry.caller;
    std::string id = entry.id ? *entry.id : new_entry_id(clock, rng);
    std::optional<std::string> admission;
    if (entry.admission != nullptr) {
        admission = dump_json(*entry.admission);
    }
    tx.defer(
        kInsert,
        {id,
         clock.now_ms(),
         entry.tenant_id,
         caller.identity_id,
         caller.identity_kind,
         caller.tenant_id,
         caller.session_id,
         caller.session_kind,
         caller.agent_id,
         caller.delegation_id,
         entry.method,
         entry.action,
         entry.resource.type,
         entry.resource.id,
         entry.decision_reason,
         admission,
         entry.request_id,
         entry.source_ip,
         entry.parent_id}
    );
    return id;
}

}  // namespace compute::audit
