#include <nlohmann/json.hpp>

#include "iam/local/confirmations.h"
#include "modules/iam/entries.h"

namespace compute::iam_methods {

namespace {

namespace local = iam::local;

Json to_json(const local::ConfirmationRow& row) {
    Json out = {
        {"id", row.id},
        {"tenantId", row.held.tenant_id.str()},
        {"delegationId", row.held.delegation_id},
        {"agent", row.held.agent},
        {"subject", row.held.subject},
        {"action", row.held.action},
        {"resource", {{"type", row.held.resource.type}, {"id", row.held.resource.id}}},
        {"reason", row.reason},
        {"state", row.state},
        {"createdAt", row.created_at},
        {"expiresAt", row.expires_at},
    };
    if (row.decided_by) {
        out["decidedBy"] = *row.decided_by;
    }
    if (row.decided_at) {
        out["decidedAt"] = *row.decided_at;
    }
    return out;
}

struct ListInput {
    std::optional<std::string> tenant_id;
    std::optional<std::string> state;
};

method::Method<ListInput> make_list() {
    method::Method<ListInput> method;
    method.kind = method::Kind::Read;
    method.input(schema::Manifest<ListInput>()
                     .optional("tenantId", &ListInput::tenant_id, schema::tenant_id())
                     .optional(
                         "state",
                         &ListInput::state,
                         schema::one_of({"pending", "approved", "denied", "used", "expired"})
                     ));
    method.handler = [](method::Context& context, ListInput& input) {
        Json items = Json::array();
        for (const auto& row : local::list_confirmations(
                 context.transaction(), context.now(), {input.tenant_id, input.state}
             )) {
            items.push_back(to_json(row));
        }
        return Json{{"items", items}};
    };
    return method;
}

struct RuleInput {
    std::string id;
    std::string ruling;
};

method::Method<RuleInput> make_rule() {
    method::Method<RuleInput> method;
    method.kind = method::Kind::Mutation;
    method.input(schema::Manifest<RuleInput>()
                     .required(
                         "id",
                         &RuleInput::id,
                         schema::string({.pattern = "", .min_length = 1, .max_length = 128})
                     )
                     .required("ruling", &RuleInput::ruling, schema::one_of({"approve", "deny"})));
    method.handler = [](method::Context& context, RuleInput& input) {
        const auto ruling =
            input.ruling == "approve" ? local::Ruling::Approve : local::Ruling::Deny;
        return to_json(local::rule_confirmation(
            context.transaction(),
            context.now(),
            input.id,
            ruling,
            context.caller->identity_id.str()
        ));
    };
    return method;
}

}  // namespace

std::vector<method::MethodEntry> confirmation_methods() {
    std::vector<method::MethodEntry> entries;
    entries.push_back(on_fleet("iam", "listConfirmations", kRead, make_list()));
    entries.push_back(on_fleet("iam", "ruleConfirmation", kManage, make_rule()));
    return entries;
}

}  // namespace compute::iam_methods
