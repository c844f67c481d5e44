// The pairs that policies are written about: every action on every resource type that a row of a
// built-in module names, its alternatives too, served or planned.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/config.h"
#include "iam/port.h"
#include "method/registry.h"

namespace compute::contract {

struct Pair {
    std::string action;
    std::string type;  // without prefix

    friend auto operator<=>(const Pair&, const Pair&) = default;
};

// Each pair with the methods that may decide it, as "pools/create" or "nodes/get (planned)".
using Pairs = std::map<Pair, std::set<std::string>>;

// The modules of the API. Operator methods are not among them: these are decided by the operator
// port, never by an IAM.
[[nodiscard]] method::Registry api_registry(const config::Config& config);
[[nodiscard]] Pairs pairs_of(const method::Registry& registry);

// A tenant's own things are decided in acme, the fleet in the root tenant.
[[nodiscard]] std::string tenant_of(const Pair& pair);
[[nodiscard]] iam::Question question_about(const Pair& pair);

// An IAM document with three identities for each pair, in the tenant it is decided in: `only-<n>`
// may do this pair and nothing else, `rest-<n>` every other pair, `but-<n>` everything, with a deny
// of this pair; n is the pair's place in `pairs`. Beside them acme/nobody, who has no policy, and
// globex/all and root/all, who may do everything.
[[nodiscard]] Json matrix_document(const Pairs& pairs);

}  // namespace compute::contract
