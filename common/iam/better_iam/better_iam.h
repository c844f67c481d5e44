// The remote IAM over HTTP. What it cannot be handed with a question it is told before: rows of the
// authz projection are mirrored to it, and a decision on a row that it does not know yet waits for
// that.
//
// Never an allow without an answer: whatever is not a whole `allowed: true` is a refusal or an
// error.
#pragma once

#include <memory>
#include <string>

#include "core/rng.h"
#include "iam/port.h"
#include "store/database.h"

namespace compute::iam::better_iam {

struct BetterIamOptions {
    std::string url;  // https://iam.example.com, with or without /api/iam
    std::string service_key_file;
    int connect_ms = 1'000;
    int total_ms = 5'000;
    std::string ca_file = {};  // empty: the system's
    std::string resource_prefix = "compute-";
};

// Thread-safe. Errors: 401 is UNAUTHENTICATED, 429 RATE_LIMITED, no whole answer in time
// IAM_UNAVAILABLE.
class BetterIam final : public IamPort {
public:
    // Reads the service key, and again whenever the remote IAM refuses it. INVALID_CONFIG when the
    // file cannot be read or is empty.
    BetterIam(store::Database& database, Clock& clock, Rng& rng, BetterIamOptions options);
    ~BetterIam() override;

    [[nodiscard]] Caller authenticate(const crypto::Secret& credential) override;
    [[nodiscard]] Decision authorize(const Session& session, const Question& question) override;
    // The same question as authorize; the remote IAM has one for both.
    [[nodiscard]] Decision require(const Session& session, const Question& question) override;
    // Asked too often, it answers with the confirmation that it opened before, as long as that has
    // not expired.
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

    // For the reconciler: mirrors at most `limit` rows that wait; returns how many it did.
    int mirror_waiting(int limit);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::iam::better_iam
