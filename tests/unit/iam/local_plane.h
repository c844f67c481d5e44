// An embedded IAM on a fresh database, filled by a document.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "iam/local/document.h"
#include "iam/local/local_iam.h"
#include "iam/local/token_store.h"
#include "iam/projection.h"
#include "iam/usage.h"

#include "tests/support/fake_clock.h"
#include "tests/support/seeded_rng.h"
#include "tests/support/test_database.h"

namespace compute::iam::local {

struct LocalPlane {
    explicit LocalPlane(store::Engine engine) : db(engine), iam(db.database(), clock, rng) {}

    ApplyResult apply(const std::string& document, ApplyOptions options = {}) {
        const Contents contents = parse_document(parse_json(document));
        return db.database().write([&](store::Transaction& tx) {
            return apply_document(tx, contents, options, clock.now_ms());
        });
    }
    Json exported() {
        return db.database().read([](store::Transaction& tx) { return export_document(tx); });
    }
    CreatedToken token(NewToken wanted) {
        wanted.created_by = "test";
        return db.database().write([&](store::Transaction& tx) {
            return create_token(tx, wanted, clock, rng);
        });
    }
    // A session of `identity`, as the envelope would hold it.
    Session session(
        const std::string& tenant,
        const std::string& identity,
        std::optional<std::string> delegation = {}
    ) {
        NewToken wanted;
        wanted.tenant_id = tenant;
        wanted.identity_id = identity;
        wanted.delegation_id = std::move(delegation);
        const crypto::Secret credential = token(wanted).token;
        return {iam.authenticate(credential), credential};
    }
    void project(const ProjectionRow& row) {
        db.database().write([&](store::Transaction& tx) {
            upsert_projection(tx, row, clock.now_ms());
        });
    }
    template <class Function>
    auto write(Function&& function) {
        return db.database().write(std::forward<Function>(function));
    }

    support::FakeClock clock;
    support::SeededRng rng;
    support::TestDatabase db;
    LocalIam iam;
};

inline Question question(
    const std::string& tenant,
    const std::string& action,
    const std::string& type,
    const std::string& id
) {
    Question out;
    out.tenant_id = TenantId(tenant);
    out.action = action;
    out.resource = {type, id};
    return out;
}

// The code of what `function` throws; nullopt when it throws nothing.
template <class Function>
std::optional<ErrorCode> code_of(Function&& function) {
    try {
        function();
        return std::nullopt;
    } catch (const ComputeError& error) {
        return error.code();
    }
}
template <class Function>
std::string message_of(Function&& function) {
    try {
        function();
        return "";
    } catch (const ComputeError& error) {
        return error.message();
    }
}

// Tenants acme and globex; in acme alice (admin), bob (reads), bot (an agent for alice), in root
// ops.
inline constexpr const char* kDocument = R"({
  "version": 1,
  "tenants": [{"id": "acme", "name": "Acme"}, {"id": "globex"}],
  "policies": [
    {"tenant": "acme", "name": "admin", "document": {"version": 1, "statements": [
      {"sid": "All", "effect": "allow", "actions": ["compute:*"], "resources": ["*"]}]}},
    {"tenant": "acme", "name": "read", "document": {"version": 1, "statements": [
      {"effect": "allow", "actions": ["compute:*:read", "compute:*:list"], "resources": ["compute-pool/*"]}]}},
    {"tenant": "root", "name": "ops", "document": {"version": 1, "statements": [
      {"effect": "allow", "actions": ["compute:*"], "resources": ["*"]}]}}],
  "roles": [{"tenant": "acme", "name": "reader", "policies": ["read"]}],
  "identities": [
    {"tenant": "acme", "id": "alice", "kind": "user", "policies": ["admin"], "attributes": {"team": "vision"}},
    {"tenant": "acme", "id": "bob", "kind": "user", "policies": [], "roles": ["reader"]},
    {"tenant": "acme", "id": "bot", "kind": "agent", "policies": []},
    {"tenant": "root", "id": "ops", "kind": "service", "policies": ["ops"]}],
  "delegations": [{"id": "dlg1", "tenant": "acme", "agent": "bot", "subject": "alice",
    "scopes": ["compute:pools:*", "compute:reservations:*"], "confirm": ["compute:pools:delete"], "maxSeconds": 3600}]
})";

}  // namespace compute::iam::local
