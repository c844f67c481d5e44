#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

constexpr const char* kRows = "create table lab_rows (id text primary key, note text not null)";
constexpr const char* kClaims =
    "create table lab_claims (id text primary key, tenant_id text not null, request_hash text not "
    "null, gpu_count bigint not null, "
    "state text not null, operation text not null)";
constexpr const char* kMade = "create table lab_made (claim_id text not null)";

constexpr store::Sql kFind =
    "select state, request_hash, gpu_count, operation from lab_claims where id = $1 and tenant_id "
    "= $2";
constexpr store::Sql kInsert =
    "insert into lab_claims (id, tenant_id, request_hash, gpu_count, state, operation) values ($1, "
    "$2, $3, $4, 'draft', $5) "
    "on conflict (id) do nothing";
constexpr store::Sql kActivate =
    "update lab_claims set state = 'active' where id = $1 and tenant_id = $2 and state <> 'active'";
constexpr store::Sql kMark =
    "update lab_claims set state = $3 where id = $1 and tenant_id = $2 and state <> 'active'";

Json claim_answer(const std::string& id, const std::string& tenant, const store::Row& row) {
    return Json{
        {"id", id},
        {"tenantId", tenant},
        {"state", row.get_text(0)},
        {"gpuCount", row.get_int(2)},
        {"operation", Json{{"state", row.get_text(3)}}}};
}

std::string id_of(const Context& context, const Claim& claim) {
    return method::draft_id(
        "clm_", TenantId(claim.tenant_id), context.caller->identity_id, claim.key
    );
}

Prepared prepare_claim(
    const ClaimHooks& hooks, Context& context, Claim& claim, store::Transaction& tx
) {
    const std::string id = id_of(context, claim);
    tx.execute(
        kInsert,
        {id,
         claim.tenant_id,
         context.request_hash,
         claim.gpu_count,
         hooks.starts_running ? "running" : "succeeded"}
    );
    const store::Row row = tx.get_row(kFind, {id, claim.tenant_id});
    if (row.get_text(1) != context.request_hash) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the key was used for another request",
            Json{{"reason", "idempotency-key-reused"}}
        );
    }
    if (row.get_text(0) == "active") {
        return Prepared::replay(claim_answer(id, claim.tenant_id, row));
    }
    const auto attributes = std::make_shared<const Json>(Json{
        {"gpuCount", claim.gpu_count}, {"durationSeconds", claim.duration_seconds}});
    context.authz_upsert(
        tx,
        {.resource = {"claim", id},
         .tenant_id = TenantId(claim.tenant_id),
         .attributes = attributes,
         .owner_id = context.caller->identity_id.str(),
         .pending = nullptr}
    );
    if (hooks.in_prepare) {
        hooks.in_prepare(context, claim);
    }
    Prepared prepared = Prepared::decide({"claim", id, std::nullopt});
    prepared.draft_id = id;
    prepared.context = attributes;
    return prepared;
}

Json make_claim(const ClaimHooks& hooks, Context& context, Claim& claim) {
    store::Transaction& tx = context.transaction();
    const std::string id = context.admission->draft_id.value();
    // Another call under the same key may have been faster.
    if (tx.execute(kActivate, {id, claim.tenant_id}) == 0) {
        throw ComputeError(
            ErrorCode::Conflict, "another call is doing this", Json{{"reason", "concurrent-change"}}
        );
    }
    tx.execute("insert into lab_made (claim_id) values ($1)", {id});
    if (hooks.in_handler) {
        hooks.in_handler(context, claim);
    }
    return claim_answer(id, claim.tenant_id, tx.get_row(kFind, {id, claim.tenant_id}));
}

}  // namespace

schema::Manifest<Plain> plain_manifest() {
    return schema::Manifest<Plain>()
        .optional("tenantId", &Plain::tenant_id, schema::tenant_id())
        .optional("id", &Plain::id, schema::string())
        .optional("count", &Plain::count, schema::integer({.min = 0, .max = 100}))
        .optional("text", &Plain::text, schema::string())
        .optional("idempotencyKey", &Plain::key, schema::idempotency_key())
        .optional("wait", &Plain::wait, schema::wait());
}

Method<Plain> plain(Kind kind, std::string action) {
    Method<Plain> out;
    out.kind = kind;
    if (kind != Kind::Public) {
        out.action = std::move(action);
    }
    out.resource = [](const Plain& input) -> std::optional<Resource> {
        return Resource{"thing", input.id.value_or("t-1"), std::nullopt};
    };
    out.handler = [](Context&, Plain&) { return Json{{"ok", true}}; };
    out.input(plain_manifest());
    return out;
}

Module lab(std::vector<MethodEntry> methods) {
    Module out;
    out.id = "lab";
    out.methods = std::move(methods);
    out.resource_types = {"thing", "node", "pool", "template"};
    out.event_families = {
        {.name = "thing",
         .subject = "thing/{id}",
         .module = "lab",
         .description = "Things of the lab.",
         .types = {"thing.poked"}}};
    return out;
}

Module plugin(std::string id, std::vector<MethodEntry> methods, std::vector<std::string> types) {
    Module out;
    out.id = std::move(id);
    out.is_plugin = true;
    out.methods = std::move(methods);
    out.resource_types = std::move(types);
    return out;
}

LabPlane::LabPlane(store::Engine engine, std::vector<Module> modules, config::Config config_in)
    : TestPlane(engine, std::move(modules), std::move(config_in)) {
    test_database().database().write([](store::Transaction& tx) {
        for (const char* statement : {kRows, kClaims, kMade}) {
            tx.execute(statement);
        }
    });
}

LabPlane::~LabPlane() {
    // The database is used by other tests again, as long as its schema is the one it was given
    // with.
    test_database().database().write([](store::Transaction& tx) {
        for (const char* statement :
             {"drop table lab_rows", "drop table lab_claims", "drop table lab_made"}) {
            tx.execute(statement);
        }
    });
}

std::int64_t LabPlane::count_of(const std::string& sql) {
    return test_database().database().query(std::string_view(sql)).at(0).get_int(0);
}
std::int64_t LabPlane::rows() {
    return count_of("select count(*) from lab_rows");
}
std::int64_t LabPlane::claims() {
    return count_of("select count(*) from lab_claims");
}
std::int64_t LabPlane::made() {
    return count_of("select count(*) from lab_made");
}
std::string LabPlane::claim_state(const std::string& id) {
    const auto rows =
        test_database().database().query("select state from lab_claims where id = $1", {id});
    return rows.empty() ? "absent" : rows.at(0).get_text(0);
}

void insert_row(store::Transaction& tx, const std::string& id, const std::string& note) {
    tx.execute("insert into lab_rows (id, note) values ($1, $2)", {id, note});
}

Method<Claim> claim_method(ClaimHooks hooks_in) {
    const auto hooks = std::make_shared<const ClaimHooks>(std::move(hooks_in));
    Method<Claim> out;
    out.kind = Kind::Mutation;
    out.action = "compute:claims:create";
    out.resource = [](const Claim&) -> std::optional<Resource> { return std::nullopt; };
    out.input(schema::Manifest<Claim>()
                  .required("tenantId", &Claim::tenant_id, schema::tenant_id())
                  .required("idempotencyKey", &Claim::key, schema::idempotency_key())
                  .required("gpuCount", &Claim::gpu_count, schema::integer({.min = 1, .max = 1000}))
                  .defaulted(
                      "durationSeconds",
                      &Claim::duration_seconds,
                      schema::integer({.min = 1, .max = 1'000'000})
                  )
                  .optional("wait", &Claim::wait, schema::wait()));
    out.handler = [hooks](Context& context, Claim& claim) {
        return make_claim(*hooks, context, claim);
    };
    auto& admission = out.admission.emplace();
    admission.prepare = [hooks](Context& context, Claim& claim, store::Transaction& tx) {
        return prepare_claim(*hooks, context, claim, tx);
    };
    admission.describe = [](const Claim& claim) {
        return std::to_string(claim.gpu_count) + " GPUs";
    };
    if (hooks->check) {
        admission.check = [hooks](Context& context, Claim& claim, const Resource& resource) {
            hooks->check(context, claim, resource);
        };
    }
    if (hooks->has_denied) {
        admission.denied =
            [hooks](
                Context& context, Claim& claim, store::Transaction& tx, const ComputeError& error
            ) {
                tx.execute(
                    kMark,
                    {id_of(context, claim),
                     claim.tenant_id,
                     error.code() == ErrorCode::ConfirmationRequired ? "awaiting-confirmation"
                                                                     : "denied"}
                );
                if (hooks->in_denied) {
                    hooks->in_denied(context);
                }
            };
    }
    if (hooks->has_abandoned) {
        admission.abandoned =
            [hooks](
                Context& context, Claim& claim, store::Transaction& tx, const std::exception& error
            ) {
                tx.execute(kMark, {id_of(context, claim), claim.tenant_id, "abandoned"});
                if (hooks->in_abandoned) {
                    hooks->in_abandoned(context, error);
                }
            };
    }
    auto& poll = out.poll.emplace();
    poll.done = [](const Json& output) { return output.at("operation").at("state") != "running"; };
    poll.refresh = [](Context& context, Claim& claim, const Json& output) {
        const auto id = output.at("id").get<std::string>();
        return claim_answer(
            id, claim.tenant_id, context.transaction().get_row(kFind, {id, claim.tenant_id})
        );
    };
    return out;
}

Module claims(ClaimHooks hooks) {
    Module out;
    out.id = "claims";
    out.methods = {entry("claims", "create", claim_method(std::move(hooks)))};
    out.resource_types = {"claim"};
    return out;
}

std::string claim_id(
    const std::string& tenant, const std::string& key, const std::string& credential
) {
    const std::string who = credential.empty() ? TestPlane::admin_of(tenant) : credential;
    return method::draft_id(
        "clm_", TenantId(tenant), support::SpyIam::caller_of(who)->identity_id, key
    );
}

}  // namespace compute::contract
