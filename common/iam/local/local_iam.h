// The embedded IAM: identities, hashed tokens, policies, roles, boundaries, delegations,
// confirmations and budgets in our own database, evaluated in process.
//
// Every answer is read from the database, in one statement that carries the session, the revision
// of the policies and the resource's attributes; compiled documents are kept by that revision. So a
// revoked token or a changed policy counts at once, in every process that shares the database.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "iam/local/directory.h"
#include "iam/local/session.h"
#include "iam/port.h"

namespace compute::iam::local {

struct LocalIamOptions {
    std::string root_tenant = "root";
    std::string resource_prefix = "compute-";
};

// What decides on one question.
struct Verdict {
    Decision decision;
    bool is_held = false;  // the policies allow it, the delegation wants a person to confirm it
};

struct Explanation {
    Caller caller;
    Verdict verdict;
    std::vector<Step> steps;
};

// Thread-safe.
class LocalIam final : public IamPort {
public:
    LocalIam(store::Database& database, Clock& clock, Rng& rng, LocalIamOptions options = {});

    [[nodiscard]] Caller authenticate(const crypto::Secret& credential) override;
    // A held action shows as a refusal.
    [[nodiscard]] Decision authorize(const Session& session, const Question& question) override;
    // Of a held action: uses up an approved confirmation of exactly this request, when there is
    // one.
    [[nodiscard]] Decision require(const Session& session, const Question& question) override;
    // After a person has refused a request, asking again for it stays refused until that
    // confirmation expires. RATE_LIMITED when kMaxOpenConfirmations of the delegation wait.
    [[nodiscard]] std::optional<Confirmation> request_confirmation(
        const Session& session,
        const Question& question,
        std::string_view reason,
        std::string_view request_hash
    ) override;
    [[nodiscard]] BillingVerdict billing_check(
        const Session& session, const TenantId& tenant_id, double gpu_hours
    ) override;
    void sync_resource(const ResourceRef& resource, const TenantId& tenant_id) override;

    // Why a decision falls as it does: every statement that bears on it. Changes nothing.
    [[nodiscard]] Explanation explain(const crypto::Secret& token, const Question& question);

private:
    enum class Detail { Verdict, Trace };
    struct Judged;
    [[nodiscard]] Judged judge(
        const crypto::Secret& credential, const Question& question, Detail detail
    );

    store::Database& database_;
    Clock& clock_;
    Rng& rng_;
    LocalIamOptions options_;
    Directory directory_;
};

}  // namespace compute::iam::local
