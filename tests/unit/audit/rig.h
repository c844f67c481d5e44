// An audit trail on a fresh database, with what seals, prunes and verifies it.
#pragma once

#include <string>
#include <vector>

#include "audit/audit.h"
#include "audit/keys.h"
#include "audit/prune.h"
#include "audit/sealer.h"
#include "audit/verify.h"

#include "tests/support/fake_clock.h"
#include "tests/support/memory_log.h"
#include "tests/support/seeded_rng.h"
#include "tests/support/test_database.h"

namespace compute::audit {

inline const crypto::Secret kSecret("a-deployment-secret-for-tests-0001");
inline const crypto::Secret kNextSecret("a-deployment-secret-for-tests-0002");

struct Rig {
    explicit Rig(store::Engine engine) : data(engine), box(make_key_box(kSecret, {})) {}

    [[nodiscard]] store::Database& db() { return data.database(); }
    [[nodiscard]] SealTools tools() { return {db(), box, clock, rng, log}; }

    static Entry entry_of(const iam::Caller& caller, const std::string& tenant) {
        Entry entry;
        entry.caller = &caller;
        entry.tenant_id = TenantId(tenant);
        entry.method = "pools/create";
        entry.action = "compute:pools:create";
        entry.resource = {"compute-tenant", tenant};
        entry.decision_reason = "policy admin";
        entry.request_id = "req-1";
        return entry;
    }

    std::string append_in(store::Transaction& tx, const std::string& tenant) {
        iam::Caller caller;
        caller.identity_id = IdentityId("ops");
        caller.identity_kind = "user";
        caller.tenant_id = TenantId(tenant);
        caller.session_id = SessionId("ses-1");
        caller.session_kind = "token";
        return append(tx, entry_of(caller, tenant), clock, rng);
    }
    // Commits one row and returns its id.
    std::string append_row(const std::string& tenant) {
        return db().write([&](store::Transaction& tx) { return append_in(tx, tenant); });
    }
    std::vector<std::string> append_rows(const std::string& tenant, int count) {
        std::vector<std::string> ids;
        for (int i = 0; i < count; ++i) {
            ids.push_back(append_row(tenant));
        }
        return ids;
    }

    Verification check(VerifyOptions options = {}) { return verify(db(), &box, options); }
    void execute(store::Sql sql, const store::Params& params = {}) { db().execute(sql, params); }
    void pass_hour() { clock.advance(std::chrono::milliseconds(kSealEveryMs)); }

    support::TestDatabase data;
    support::FakeClock clock;
    support::SeededRng rng;
    support::MemoryLog log;
    crypto::SecretBox box;
};

class AuditTest : public testing::TestWithParam<store::Engine> {
protected:
    Rig rig{GetParam()};
};

// The rows that faults name, and the checkpoints.
inline std::vector<std::string> rows_of(const Verification& done) {
    std::vector<std::string> rows;
    for (const Fault& fault : done.faults) {
        if (fault.row) {
            rows.push_back(*fault.row);
        }
    }
    return rows;
}
inline std::vector<std::int64_t> checkpoints_of(const Verification& done) {
    std::vector<std::int64_t> numbers;
    for (const Fault& fault : done.faults) {
        if (!fault.row && fault.checkpoint) {
            numbers.push_back(*fault.checkpoint);
        }
    }
    return numbers;
}
inline std::string words_of(const Verification& done) {
    std::string text;
    for (const Fault& fault : done.faults) {
        text += fault.message + "\n";
    }
    return text;
}

}  // namespace compute::audit
