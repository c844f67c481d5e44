#include "iam/local/directory.h"

#include "core/json.h"

namespace compute::iam::local {
namespace {

constexpr store::Sql kRevision("select revision from iam_state where id = 1");
constexpr store::Sql kIdentity(
    "select kind, attributes from iam_identities where tenant_id = $1 and id = $2"
);
constexpr store::Sql kGrants(
    "select p.name, p.document from iam_policies p "
    "where p.tenant_id = $1 and p.name in ("
    "select b.name from iam_bindings b where b.tenant_id = $1 and b.identity_id = $2 and b.kind = "
    "'policy' "
    "union select rp.policy from iam_bindings b join iam_role_policies rp on rp.tenant_id = "
    "b.tenant_id and rp.role = b.name "
    "where b.tenant_id = $1 and b.identity_id = $2 and b.kind = 'role') order by p.name"
);
constexpr store::Sql kBoundaries(
    "select position, document from iam_boundaries where tenant_id = $1 order by position"
);

std::shared_ptr<const Policy> deny_all() {
    static const std::shared_ptr<const Policy> kDenyAll = Policy::compile(
        Json::parse(
            R"({"version":1,"statements":[{"sid":"DoesNotLoad","effect":"deny","actions":["*"],"resources":["*"]}]})"
        ),
        "document"
    );
    return kDenyAll;
}

}  // namespace

std::shared_ptr<const Policy> Directory::policy(const std::string& document) {
    const auto known = policies_.with([&](const auto& policies) -> std::shared_ptr<const Policy> {
        const auto found = policies.find(document);
        return found == policies.end() ? nullptr : found->second;
    });
    if (known != nullptr) {
        return known;
    }
    std::shared_ptr<const Policy> compiled;
    try {
        compiled = Policy::compile(parse_json(document), "document");
    } catch (const ComputeError&) {
        compiled = deny_all();
    }
    policies_.with([&](auto& policies) {
        if (policies.size() >= kMaxPolicies) {
            policies.clear();
        }
        policies.emplace(document, compiled);
    });
    return compiled;
}

std::shared_ptr<const Policy> Directory::actions_policy(const std::string& patterns) {
    // An empty list allows nothing; the format has no empty list, but no statement at all.
    return policy(
        patterns == "[]" ? R"({"statements":[],"version":1})"
                         : R"({"statements":[{"actions":)" + patterns +
                               R"(,"effect":"allow","resources":["*"]}],"version":1})"
    );
}

Directory::Kept Directory::load(const TenantId& tenant_id, const IdentityId& identity_id) {
    struct Texts {
        std::int64_t revision = 0;
        std::optional<store::Row> identity;
        store::Rows grants;
        store::Rows boundaries;
    };
    // Compiling waits until the snapshot is closed.
    const Texts texts = database_.read(
        [&](store::Transaction& tx) {
            return Texts{
                tx.get_row(kRevision).get_int(0),
                tx.find_row(kIdentity, {tenant_id, identity_id}),
                tx.query(kGrants, {tenant_id, identity_id}),
                tx.query(kBoundaries, {tenant_id})};
        },
        store::Purpose::Iam
    );
    auto principal = std::make_shared<Principal>();
    principal->facts = texts.identity ? Json::parse(texts.identity->get_text(1)) : Json::object();
    principal->facts["id"] = identity_id.str();
    principal->facts["tenantId"] = tenant_id.str();
    if (texts.identity) {
        principal->facts["kind"] = texts.identity->get_text(0);
    }
    for (const store::Row& row : texts.grants) {
        principal->grants.push_back(
            {"policy " + tenant_id.str() + "/" + row.get_text(0), policy(row.get_text(1))}
        );
    }
    for (const store::Row& row : texts.boundaries) {
        principal->boundaries.push_back(
            {"the boundary of tenant " + tenant_id.str(), policy(row.get_text(1))}
        );
    }
    return {texts.revision, std::move(principal)};
}

std::shared_ptr<const Principal> Directory::principal(
    const TenantId& tenant_id, const IdentityId& identity_id, std::int64_t revision
) {
    const Key key{tenant_id.str(), identity_id.str()};
    const auto known =
        principals_.with([&](const auto& principals) -> std::shared_ptr<const Principal> {
            const auto found = principals.find(key);
            return found == principals.end() || found->second.revision != revision
                       ? nullptr
                       : found->second.principal;
        });
    if (known != nullptr) {
        return known;
    }
    Kept kept = load(tenant_id, identity_id);
    principals_.with([&](auto& principals) {
        if (principals.size() >= kMaxPrincipals) {
            principals.clear();
        }
        principals[key] = kept;
    });
    return kept.principal;
}

}  // namespace compute::iam::local
