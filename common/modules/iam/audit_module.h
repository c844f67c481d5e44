// What keeps the audit trail sealed: the reconcilers audit.seal and audit.prune and the check
// core.audit-seals. How sealing works is told in audit/sealer.h.
#pragma once

#include <functional>

#include "audit/keys.h"
#include "audit/sealer.h"
#include "iam/port.h"
#include "method/module.h"

namespace compute::iam_methods {

// The module `audit`. It serves no method.
[[nodiscard]] method::Module audit_module();

// Runs `use` with what sealing works with. INVALID_CONFIG without a deployment secret.
void with_seal_tools(
    const method::Runtime& runtime, const std::function<void(const audit::SealTools&)>& use
);

// `secrets rotate` for the keys that checkpoints are signed with: seals them again under the
// current deployment secret, in one transaction, with an audit row of `caller` when one changed.
[[nodiscard]] audit::Resealed rotate_audit_keys(
    const method::Runtime& runtime, const iam::Caller& caller, audit::ResealMode mode
);

// Rows wait longer than this for a checkpoint only when nothing seals them.
inline constexpr EpochMs kSealLagMs = 2 * audit::kSealEveryMs;
// Rows are this far past their retention only when nothing prunes them.
inline constexpr EpochMs kAuditPruneBehindMs = 2 * 86'400'000;

}  // namespace compute::iam_methods
