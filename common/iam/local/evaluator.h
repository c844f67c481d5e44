// The verdict over all documents that bear on a decision. A pure function.
//
// A deny that applies anywhere wins. Otherwise every boundary must have an allow that applies, and
// one grant too: boundaries intersect, grants form a union. Whatever is not allowed is refused.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iam/local/policy.h"
#include "iam/port.h"

namespace compute::iam::local {

// A document and what it is called in reasons: "policy root/admin", "the boundary of tenant acme".
struct Source {
    std::string name;
    std::shared_ptr<const Policy> policy;
};

struct Documents {
    std::vector<Source> grants;
    std::vector<Source> boundaries;
    std::vector<Source> only_denies;  // documents whose denies count and whose allows do not
};

[[nodiscard]] Decision evaluate(const Documents& documents, const Request& request);

// One line for each statement: whether it applies and, if not, why. For `iam explain`.
struct Step {
    std::string source;
    std::string role;  // grant, boundary, denies
    std::string statement;
    Effect effect = Effect::Allow;
    bool applies = false;
    std::string why_not;
};
[[nodiscard]] std::vector<Step> trace(const Documents& documents, const Request& request);

}  // namespace compute::iam::local
