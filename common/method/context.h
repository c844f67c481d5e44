// What a handler is given: the module's part and the call's part.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "core/wake.h"
#include "iam/port.h"
#include "iam/projection.h"
#include "method/definition.h"
#include "outbox/catalog.h"
#include "outbox/event.h"
#include "store/database.h"

namespace compute::method {

// What a process has one of. Outlives everything that uses it.
struct Runtime {
    store::Database& database;
    iam::IamPort& iam;
    Clock& clock;
    Rng& rng;
    Log& log;
    const config::Config& config;
    WakeHub& wake;
    const outbox::EventCatalog& catalog;
};

// The database as a handler may use it. In an auto method everything happens in the call's transaction, and transaction() is a
// savepoint of it; in a manual method and in `check` each statement stands alone and transaction() is a real one.
class SqlAccess {
public:
    SqlAccess(store::Database& database, store::Transaction* tx) : database_(&database), tx_(tx) {}

    store::Rows query(store::Sql sql, const store::Params& params = {});
    std::int64_t execute(store::Sql sql, const store::Params& params = {});
    template <class Function>
    auto transaction(Function&& function) {
        if (tx_ != nullptr) {
            return tx_->savepoint([&] { return function(*tx_); });
        }
        return database_->write(std::forward<Function>(function));
    }

private:
    store::Database* database_;
    store::Transaction* tx_;
};

struct AdmissionContext {
    Resource resource;
    std::optional<std::string> draft_id;
};

struct DecisionContext {
    std::string action;
    iam::ResourceRef resource;  // with prefix
    std::string reason;
};

// Says whether the caller is gone or the process stops.
using AbortToken = std::function<bool()>;

class Context {
public:
    explicit Context(const Runtime& runtime_in) : runtime(&runtime_in) {}

    // Module part.
    [[nodiscard]] SqlAccess sql() const { return {runtime->database, tx}; }
    // For `check` hooks and composites; refuses with INTERNAL_ERROR while a transaction is open.
    [[nodiscard]] iam::IamPort& iam() const { return port != nullptr ? *port : runtime->iam; }
    [[nodiscard]] const config::Config& config() const { return runtime->config; }
    [[nodiscard]] Log& log() const { return runtime->log; }
    [[nodiscard]] EpochMs now() const { return runtime->clock.now_ms(); }
    [[nodiscard]] std::string new_id(std::string_view prefix) const { return compute::new_id(prefix, runtime->clock, runtime->rng); }
    [[nodiscard]] const std::string& root_tenant_id() const { return runtime->config.iam.root_tenant; }

    // Publishes into the outbox, in the call's transaction; fan-out is woken after the commit. INVALID_STATE without a transaction;
    // INTERNAL_ERROR when no module declares the type.
    void publish(store::Transaction& in, const outbox::Event& event) const;
    // Writes a row of the authz projection. Type without prefix.
    void authz_upsert(store::Transaction& in, const iam::ProjectionRow& row) const;
    void authz_remove(store::Transaction& in, const iam::ResourceRef& resource) const;

    // Call part.
    const iam::Caller* caller = nullptr;                  // null on a public call
    const iam::Session* session = nullptr;                // the caller with the credential, for questions to the IAM; null on a public call
    iam::IamPort* port = nullptr;                         // who decides about this call; null: the runtime's
    std::optional<crypto::Secret> credential;             // public: when presented
    std::optional<TenantId> tenant_id;                    // the input's
    std::string path;                                     // "pools/create"
    std::string request_id;
    std::optional<std::string> source_ip;
    std::string request_hash;                             // SHA-256 hex of the canonical input without wait and idempotencyKey
    store::Transaction* tx = nullptr;                     // null in manual methods and in `check`
    std::optional<AdmissionContext> admission;
    std::optional<DecisionContext> decision;
    AbortToken abort;                                     // never empty during a call
    // Composites only; empty otherwise.
    std::function<void(std::string_view path, const Json& input)> check;
    std::function<Json(store::Transaction& tx, std::string_view path, const Json& input)> invoke;

    // The call's transaction; INVALID_STATE when there is none.
    [[nodiscard]] store::Transaction& transaction() const;

    const Runtime* runtime;
};

// The id of an admission's draft: `prefix` + 52 characters, from SHA-256 over tenant, identity and key. Equal inputs give
// equal ids; the parts cannot run into each other (each is length-prefixed).
[[nodiscard]] std::string draft_id(
    std::string_view prefix, const TenantId& tenant_id, const IdentityId& identity_id, std::string_view key
);

}  // namespace compute::method
