// Items of the IAM document as rows of the database, and back.
#include <optional>
#include <utility>

#include "core/json.h"
#include "iam/local/document.h"

namespace compute::iam::local {
namespace {

// Tenants and identities keep their state (disabled, since when) when the document names them
// again.
constexpr store::Sql kPutTenant(
    "insert into iam_tenants (id, name, created_at) values ($1, $2, $3) on conflict (id) do update "
    "set name = excluded.name"
);
constexpr store::Sql kRemoveTenant("delete from iam_tenants where id = $1");
constexpr store::Sql kPutPolicy(
    "insert into iam_policies (tenant_id, name, document) values ($1, $2, $3) "
    "on conflict (tenant_id, name) do update set document = excluded.document"
);
constexpr store::Sql kRemovePolicy("delete from iam_policies where tenant_id = $1 and name = $2");
constexpr store::Sql kPutRole(
    "insert into iam_roles (tenant_id, name) values ($1, $2) on conflict (tenant_id, name) do "
    "nothing"
);
constexpr store::Sql kRemoveRole("delete from iam_roles where tenant_id = $1 and name = $2");
constexpr store::Sql kClearRole("delete from iam_role_policies where tenant_id = $1 and role = $2");
constexpr store::Sql kFillRole(
    "insert into iam_role_policies (tenant_id, role, policy) values ($1, $2, $3)"
);
constexpr store::Sql kPutIdentity(
    "insert into iam_identities (tenant_id, id, kind, attributes, created_at) values ($1, $2, $3, "
    "$4, $5) "
    "on conflict (tenant_id, id) do update set kind = excluded.kind, attributes = "
    "excluded.attributes"
);
constexpr store::Sql kRemoveIdentity("delete from iam_identities where tenant_id = $1 and id = $2");
constexpr store::Sql kClearBindings(
    "delete from iam_bindings where tenant_id = $1 and identity_id = $2"
);
constexpr store::Sql kBind(
    "insert into iam_bindings (tenant_id, identity_id, kind, name) values ($1, $2, $3, $4)"
);
constexpr store::Sql kRevokeIdentity(
    "update iam_tokens set revoked_at = $3 where tenant_id = $1 and identity_id = $2 and "
    "revoked_at is null"
);
constexpr store::Sql kClearBoundaries("delete from iam_boundaries where tenant_id = $1");
constexpr store::Sql kPutBoundary(
    "insert into iam_boundaries (tenant_id, position, document) values ($1, $2, $3)"
);
constexpr store::Sql kPutBudget(
    "insert into iam_budgets (tenant_id, name, limit_gpu_hours, spend_window, is_enforced) values "
    "($1, $2, $3, $4, $5) "
    "on conflict (tenant_id, name) do update set limit_gpu_hours = excluded.limit_gpu_hours, "
    "spend_window = excluded.spend_window, is_enforced = excluded.is_enforced"
);
constexpr store::Sql kRemoveBudget("delete from iam_budgets where tenant_id = $1 and name = $2");
constexpr store::Sql kPutDelegation(
    "insert into iam_delegations (id, tenant_id, agent, subject, scopes, confirm, max_seconds) "
    "values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do update set tenant_id = "
    "excluded.tenant_id, "
    "agent = excluded.agent, subject = excluded.subject, scopes = excluded.scopes, confirm = "
    "excluded.confirm, "
    "max_seconds = excluded.max_seconds"
);
constexpr store::Sql kRemoveDelegation("delete from iam_delegations where id = $1");
constexpr store::Sql kSameParties(
    "select 1 from iam_delegations where id = $1 and tenant_id = $2 and agent = $3 and subject = $4"
);
constexpr store::Sql kRevokeDelegation(
    "update iam_tokens set revoked_at = $2 where delegation_id = $1 and revoked_at is null"
);
constexpr store::Sql kCloseConfirmations(
    "update iam_confirmations set state = 'denied' where delegation_id = $1 and state in "
    "('pending', 'approved')"
);

void put_identity(store::Transaction& tx, const ItemKey& key, const Json& item, EpochMs now) {
    tx.defer(
        kPutIdentity,
        {key[0],
         key[1],
         item["kind"].get<std::string>(),
         canonical_json(item.value("attributes", Json::object())),
         now}
    );
    tx.defer(kClearBindings, {key[0], key[1]});
    for (const Json& name : item["policies"]) {
        tx.defer(kBind, {key[0], key[1], "policy", name.get<std::string>()});
    }
    for (const Json& name : item.value("roles", Json::array())) {
        tx.defer(kBind, {key[0], key[1], "role", name.get<std::string>()});
    }
}

void end_delegation(store::Transaction& tx, const std::string& id, EpochMs now) {
    tx.defer(kRevokeDelegation, {id, now});
    tx.defer(kCloseConfirmations, {id});
}

void put_delegation(store::Transaction& tx, const ItemKey& key, const Json& item, EpochMs now) {
    const auto tenant = item["tenant"].get<std::string>();
    const auto agent = item["agent"].get<std::string>();
    const auto subject = item["subject"].get<std::string>();
    // Tokens and approvals were given for these two parties, not for whoever comes to stand under
    // the same id.
    if (!tx.find_row(kSameParties, {key[0], tenant, agent, subject})) {
        end_delegation(tx, key[0], now);
    }
    tx.defer(
        kPutDelegation,
        {key[0],
         tenant,
         agent,
         subject,
         canonical_json(item["scopes"]),
         canonical_json(item["confirm"]),
         item["maxSeconds"].get<std::int64_t>()}
    );
}

void put_role(store::Transaction& tx, const ItemKey& key, const Json& item) {
    tx.defer(kPutRole, {key[0], key[1]});
    tx.defer(kClearRole, {key[0], key[1]});
    for (const Json& policy : item["policies"]) {
        tx.defer(kFillRole, {key[0], key[1], policy.get<std::string>()});
    }
}

void put_boundaries(store::Transaction& tx, const ItemKey& key, const Json& item) {
    tx.defer(kClearBoundaries, {key[0]});
    std::int64_t position = 0;
    for (const Json& document : item["documents"]) {
        tx.defer(kPutBoundary, {key[0], position++, canonical_json(document)});
    }
}

std::optional<std::string> text_member(const Json& item, const char* name) {
    const auto found = item.find(name);
    return found == item.end() ? std::nullopt : std::optional(found->get<std::string>());
}

void load_identities(store::Transaction& tx, Items& items) {
    for (const store::Row& row :
         tx.query("select tenant_id, id, kind, attributes from iam_identities")) {
        Json item{
            {"tenant", row.get_text(0)},
            {"id", row.get_text(1)},
            {"kind", row.get_text(2)},
            {"policies", Json::array()}};
        if (Json attributes = Json::parse(row.get_text(3)); !attributes.empty()) {
            item["attributes"] = std::move(attributes);
        }
        items[{row.get_text(0), row.get_text(1)}] = std::move(item);
    }
    for (const store::Row& row :
         tx.query("select tenant_id, identity_id, kind, name from iam_bindings order by tenant_id, "
                  "identity_id, kind, name")) {
        const auto item = items.find({row.get_text(0), row.get_text(1)});
        if (item != items.end()) {
            item->second[row.get_text(2) == "role" ? "roles" : "policies"].push_back(row.get_text(3)
            );
        }
    }
}

void load_roles(store::Transaction& tx, Items& items) {
    for (const store::Row& row : tx.query("select tenant_id, name from iam_roles")) {
        items[{row.get_text(0), row.get_text(1)}] = Json{
            {"tenant", row.get_text(0)}, {"name", row.get_text(1)}, {"policies", Json::array()}};
    }
    for (const store::Row& row : tx.query("select tenant_id, role, policy from iam_role_policies "
                                          "order by tenant_id, role, policy")) {
        const auto item = items.find({row.get_text(0), row.get_text(1)});
        if (item != items.end()) {
            item->second["policies"].push_back(row.get_text(2));
        }
    }
}

void load_delegations(store::Transaction& tx, Items& items) {
    for (const store::Row& row : tx.query("select id, tenant_id, agent, subject, scopes, confirm, "
                                          "max_seconds from iam_delegations")) {
        items[{row.get_text(0)}] = Json{
            {"id", row.get_text(0)},
            {"tenant", row.get_text(1)},
            {"agent", row.get_text(2)},
            {"subject", row.get_text(3)},
            {"scopes", Json::parse(row.get_text(4))},
            {"confirm", Json::parse(row.get_text(5))},
            {"maxSeconds", row.get_int(6)}};
    }
}

// A whole number is the integer, as the document's own reader has it.
Json number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

}  // namespace

void put_item(
    store::Transaction& tx,
    const std::string& section,
    const ItemKey& key,
    const Json& item,
    EpochMs now
) {
    if (section == "tenants") {
        tx.defer(kPutTenant, {key[0], text_member(item, "name"), now});
    } else if (section == "policies") {
        tx.defer(kPutPolicy, {key[0], key[1], canonical_json(item["document"])});
    } else if (section == "roles") {
        put_role(tx, key, item);
    } else if (section == "identities") {
        put_identity(tx, key, item, now);
    } else if (section == "boundaries") {
        put_boundaries(tx, key, item);
    } else if (section == "budgets") {
        tx.defer(
            kPutBudget,
            {key[0],
             key[1],
             item["limitGpuHours"].get<double>(),
             item["window"].get<std::string>(),
             item["enforce"].get<bool>() ? 1 : 0}
        );
    } else if (section == "delegations") {
        put_delegation(tx, key, item, now);
    }
}

void remove_item(
    store::Transaction& tx, const std::string& section, const ItemKey& key, EpochMs now
) {
    if (section == "tenants") {
        tx.defer(kRemoveTenant, {key[0]});
    } else if (section == "policies") {
        tx.defer(kRemovePolicy, {key[0], key[1]});
    } else if (section == "roles") {
        tx.defer(kClearRole, {key[0], key[1]});
        tx.defer(kRemoveRole, {key[0], key[1]});
    } else if (section == "identities") {
        tx.defer(kRevokeIdentity, {key[0], key[1], now});
        tx.defer(kClearBindings, {key[0], key[1]});
        tx.defer(kRemoveIdentity, {key[0], key[1]});
    } else if (section == "boundaries") {
        tx.defer(kClearBoundaries, {key[0]});
    } else if (section == "budgets") {
        tx.defer(kRemoveBudget, {key[0], key[1]});
    } else if (section == "delegations") {
        end_delegation(tx, key[0], now);
        tx.defer(kRemoveDelegation, {key[0]});
    }
}

Contents load_contents(store::Transaction& tx) {
    Contents contents;
    for (const char* section : kSections) {
        contents[section];
    }
    for (const store::Row& row : tx.query("select id, name from iam_tenants")) {
        Json item{{"id", row.get_text(0)}};
        if (const auto name = row.find_text(1)) {
            item["name"] = *name;
        }
        contents["tenants"][{row.get_text(0)}] = std::move(item);
    }
    for (const store::Row& row : tx.query("select tenant_id, name, document from iam_policies")) {
        contents["policies"][{row.get_text(0), row.get_text(1)}] = Json{
            {"tenant", row.get_text(0)},
            {"name", row.get_text(1)},
            {"document", Json::parse(row.get_text(2))}};
    }
    load_roles(tx, contents["roles"]);
    load_identities(tx, contents["identities"]);
    for (const store::Row& row :
         tx.query("select tenant_id, document from iam_boundaries order by tenant_id, position")) {
        Json& item = contents["boundaries"][{row.get_text(0)}];
        item["tenant"] = row.get_text(0);
        item["documents"].push_back(Json::parse(row.get_text(1)));
    }
    for (const store::Row& row : tx.query(
             "select tenant_id, name, limit_gpu_hours, spend_window, is_enforced from iam_budgets"
         )) {
        contents["budgets"][{row.get_text(0), row.get_text(1)}] = Json{
            {"tenant", row.get_text(0)},
            {"name", row.get_text(1)},
            {"limitGpuHours", number(row.get_double(2))},
            {"window", row.get_text(3)},
            {"enforce", row.get_bool(4)}};
    }
    load_delegations(tx, contents["delegations"]);
    return contents;
}

}  // namespace compute::iam::local
