#include <nlohmann/json.hpp>

#include "audit/keys.h"
#include "core/json.h"
#include "modules/iam/entries.h"

namespace compute::iam_methods {

namespace {

constexpr std::int64_t kMaxRows = 10'000;

// An operator reads across tenants: the tenant is a filter here, and the decision was on the fleet.
#define COMPUTE_AUDIT_LIST(MATCHES, ORDER)                                                    \
    "select seq, id, time, tenant_id, identity_id, identity_kind, actor_tenant_id, method, "  \
    "action, resource_type, resource_id, decision_reason, request_id, source_ip, parent_id, " \
    "agent_id, delegation_id, admission from audit_events"                                    \
    " where (cast($1 as text) is null or tenant_id = $1) and time >= $2"                      \
    " and (cast($3 as text) is null or identity_id = $3)"                                     \
    " and (cast($4 as text) is null or action " MATCHES " or method " MATCHES                 \
    ") and (cast($5 as text) is null or request_id = $5) order by " ORDER " limit $6"
// Newest commit first. GLOB where LIKE would not tell upper case from lower.
constexpr store::Sql kList(
    COMPUTE_AUDIT_LIST("glob $4", "seq desc"), COMPUTE_AUDIT_LIST("like $4", "txid desc, seq desc")
);

// What actions, methods and a `*` are made of: nothing that GLOB reads as a pattern of its own.
constexpr const char* kActionPattern = "^[A-Za-z0-9:/._*-]+$";

// `pattern` as the engine's operator takes it.
std::string to_sql_pattern(const std::string& pattern, store::Engine engine) {
    if (engine == store::Engine::Sqlite) {
        return pattern;
    }
    std::string like;
    for (const char c : pattern) {
        like += c == '*' ? "%" : c == '_' ? "\\_" : std::string(1, c);
    }
    return like;
}

struct AuditInput {
    std::optional<std::string> tenant_id;
    std::int64_t since = 0;
    std::optional<std::string> actor;
    std::optional<std::string> action;
    std::optional<std::string> request_id;
    std::int64_t limit = 100;
};

Json to_json(const store::Row& row) {
    Json out = {
        {"id", row.get_text(1)},
        {"time", row.get_int(2)},
        {"tenantId", row.get_text(3)},
        {"actor",
         {{"identityId", row.get_text(4)},
          {"kind", row.get_text(5)},
          {"tenantId", row.get_text(6)}}},
        {"method", row.get_text(7)},
        {"action", row.get_text(8)},
        {"resource", {{"type", row.get_text(9)}, {"id", row.get_text(10)}}},
        {"reason", row.get_text(11)},
        {"requestId", row.get_text(12)},
    };
    const std::pair<std::size_t, const char*> optional[] = {{13, "sourceIp"}, {14, "parentId"}};
    for (const auto& [column, name] : optional) {
        if (const auto text = row.find_text(column)) {
            out[name] = *text;
        }
    }
    if (const auto agent = row.find_text(15)) {
        out["actor"]["agentId"] = *agent;
    }
    if (const auto delegation = row.find_text(16)) {
        out["actor"]["delegationId"] = *delegation;
    }
    if (const auto admission = row.find_text(17)) {
        out["admission"] = parse_json(*admission);
    }
    return out;
}

method::Method<AuditInput> make_list() {
    const schema::Shape word = schema::string({.pattern = "", .min_length = 1, .max_length = 256});
    method::Method<AuditInput> method;
    method.kind = method::Kind::Read;
    method.input(
        schema::Manifest<AuditInput>()
            .optional("tenantId", &AuditInput::tenant_id, schema::tenant_id())
            .defaulted("since", &AuditInput::since, schema::integer())
            .optional("actor", &AuditInput::actor, word)
            .optional(
                "action",
                &AuditInput::action,
                schema::string({.pattern = kActionPattern, .min_length = 1, .max_length = 256}),
                "An action or a method; * stands for anything."
            )
            .optional("requestId", &AuditInput::request_id, word)
            .defaulted("limit", &AuditInput::limit, schema::integer({.min = 1, .max = kMaxRows}))
    );
    method.handler = [](method::Context& context, AuditInput& input) {
        Json items = Json::array();
        std::optional<std::string> action;
        if (input.action) {
            action = to_sql_pattern(*input.action, context.transaction().engine());
        }
        const store::Params params = {
            input.tenant_id, input.since, input.actor, action, input.request_id, input.limit};
        for (const store::Row& row : context.transaction().query(kList, params)) {
            items.push_back(to_json(row));
        }
        return Json{{"items", items}};
    };
    return method;
}

struct NoInput {};

// The key is made and stored in the call's own transaction: its audit row and the key stand or fall
// together.
method::Method<NoInput> make_replace_key() {
    method::Method<NoInput> method;
    method.kind = method::Kind::Mutation;
    method.input(schema::Manifest<NoInput>());
    method.handler = [](method::Context& context, NoInput&) {
        const method::Runtime& runtime = *context.runtime;
        const crypto::SecretBox box =
            audit::make_key_box(runtime.config.secret, runtime.config.previous_secrets);
        const audit::NewKey made = audit::make_key(box, runtime.clock, runtime.rng);
        if (!audit::insert_key(context.transaction(), made)) {
            throw ComputeError(
                ErrorCode::Conflict,
                "key: another process made one at this moment",
                Json{{"reason", "concurrent-change"}}
            );
        }
        return Json{{"id", made.key.id}, {"publicKey", made.key.public_key}};
    };
    return method;
}

}  // namespace

std::vector<method::MethodEntry> audit_methods() {
    std::vector<method::MethodEntry> entries;
    entries.push_back(on_fleet("audit", "list", "compute:audit:read", make_list()));
    entries.push_back(on_fleet("audit", "replaceKey", "compute:audit:manage", make_replace_key()));
    return entries;
}

}  // namespace compute::iam_methods
