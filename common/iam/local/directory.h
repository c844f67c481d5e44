// What the database says about an identity's rights, compiled and kept as long as
// iam_state.revision stays the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/guarded.h"
#include "core/ids.h"
#include "iam/local/evaluator.h"
#include "store/database.h"

namespace compute::iam::local {

// An identity with its documents. Immutable.
struct Principal {
    Json facts;                      // id, tenantId, kind and the attributes
    std::vector<Source> grants;      // its policies and those of its roles
    std::vector<Source> boundaries;  // of its tenant
};

// Thread-safe.
class Directory {
public:
    explicit Directory(store::Database& database) : database_(database) {}

    // The identity as of `revision` or later; an unknown one has no rights. At most one read
    // transaction, none while the revision has not moved.
    [[nodiscard]] std::shared_ptr<const Principal> principal(
        const TenantId& tenant_id, const IdentityId& identity_id, std::int64_t revision
    );

    // The compiled form of a document's text. One that does not compile denies everything: what it
    // forbids must not become allowed.
    [[nodiscard]] std::shared_ptr<const Policy> policy(const std::string& document);

    // A document that allows the actions of a JSON list of patterns on every resource.
    [[nodiscard]] std::shared_ptr<const Policy> actions_policy(const std::string& patterns);

private:
    static constexpr std::size_t kMaxPrincipals = 10'000;
    static constexpr std::size_t kMaxPolicies = 10'000;

    using Key = std::pair<std::string, std::string>;  // tenant, identity
    struct Kept {
        std::int64_t revision = 0;
        std::shared_ptr<const Principal> principal;
    };
    [[nodiscard]] Kept load(const TenantId& tenant_id, const IdentityId& identity_id);

    store::Database& database_;
    Guarded<std::map<Key, Kept>> principals_;
    Guarded<std::map<std::string, std::shared_ptr<const Policy>, std::less<>>>
        policies_;  // by text
};

}  // namespace compute::iam::local
