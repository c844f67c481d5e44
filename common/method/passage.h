// One call on its way through the envelope: what is known of it, and the steps that plain methods,
// admissions and composites share. Inside this room only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "method/authority.h"
#include "method/context.h"
#include "method/envelope.h"
#include "method/outcomes.h"
#include "method/registry.h"

namespace compute::method {

// What the log and the denial log say about a call, filled as far as it came.
struct Trace {
    const RegisteredMethod* method = nullptr;
    std::string identity_id;
    std::string tenant_id;
    std::string action;
    iam::ResourceRef resource;
    std::string reason;
    LatencyHistogram* decisions = nullptr;  // where the time of a decision is counted
};

struct Passage {
    const Registry& registry;
    const Runtime& runtime;
    Authority& authority;
    const Call&
        call;  // request id, source address, abort and on_wait; a composite's sub-calls share it
    const RegisteredMethod& method;
    const iam::Session& session;
    const Json& raw;                    // the input as it came
    Input input;                        // what validate() made of it
    std::optional<TenantId> tenant_id;  // what the input names
    std::string request_hash;           // of mutations
    Trace& trace;
};

// A decision about to be made: what the method said, and the question as the IAM gets it.
struct Asked {
    Resource resource;
    iam::Question question;
};

// The tenantId of an input, when it names one.
[[nodiscard]] std::optional<TenantId> find_tenant(const Json& raw);

// SHA-256, in hex, of the canonical input without `wait` and `idempotencyKey`.
[[nodiscard]] std::string request_hash_of(const Json& raw);

// ACCESS_DENIED unless the caller belongs to the tenant the input names, or to the root tenant.
// Asks nobody.
void check_tenant(const Passage& passage);

// The question about `resource`. INVALID_CONFIG when the method may not decide on it: an unknown
// type, an action or pair that its row does not list, no tenant to decide in, or nothing at all.
[[nodiscard]] Asked question_of(const Passage& passage, const std::optional<Resource>& resource);

// Asks once. The verdict may be a refusal.
[[nodiscard]] iam::Decision ask(const Passage& passage, const Asked& asked);

// The error of a refusal: ACCESS_DENIED, or CONFIRMATION_REQUIRED when the caller is an agent in a
// delegated session and the IAM holds the action for a person. Throws what the IAM throws when it
// cannot say.
[[nodiscard]] ComputeError refusal_of(
    const Passage& passage, const Asked& asked, const iam::Decision& decision
);

// The context of the call, inside `tx` or outside of any.
[[nodiscard]] Context context_of(const Passage& passage, store::Transaction* tx);

[[nodiscard]] DecisionContext decision_context(const Asked& asked, const iam::Decision& decision);

// Where an audit row hangs: a composite's sub-calls name its row, which is written last.
struct AuditLink {
    std::optional<std::string> id;
    std::optional<std::string> parent_id;
};

// The audit row of an allowed mutation; call it in the handler's transaction, behind the handler.
void append_audit(
    const Passage& passage,
    store::Transaction& tx,
    const DecisionContext& decision,
    const std::shared_ptr<const Json>& admission,
    const AuditLink& link
);

// Runs the method's prepare in the transaction it asks for, which is over when this returns.
[[nodiscard]] Prepared prepare_alone(const Passage& passage);

// What the audit row keeps of an admission.
[[nodiscard]] std::shared_ptr<const Json> admission_record(const Prepared& prepared);

// Admission, composite and waiting: the parts of the envelope with a file of their own.
[[nodiscard]] Json run_admitted(const Passage& passage);
[[nodiscard]] Json run_composite(
    const Passage& passage, const Asked& asked, const iam::Decision& decision
);
[[nodiscard]] Json wait_until_done(const Passage& passage, Json output);

}  // namespace compute::method
