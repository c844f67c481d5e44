// What deployment commands do to the embedded IAM and read of the audit trail, as methods: they
// pass the envelope like every other call, so their decision and their audit row are ordinary.
//
// They are no part of the served API. The command line puts them into a registry of its own and
// calls them as the operating-system user; nothing of this is reachable over HTTP, whatever a token
// may do.
#pragma once

#include "method/module.h"

namespace compute::iam_methods {

// iam/apply, iam/plan, iam/export, iam/createToken, iam/listTokens, iam/revokeTokens,
// iam/listConfirmations, iam/ruleConfirmation, iam/switch, audit/list,
// audit/replaceKey. Decided as compute:iam:manage, compute:iam:read, compute:audit:read or
// compute:audit:manage on the fleet.
[[nodiscard]] method::Module operator_module();

}  // namespace compute::iam_methods
