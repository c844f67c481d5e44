// The port of deployment commands: the operating-system user acts on the configuration's database
// without a credential. The calls pass the same Envelope, so decision and audit row are ordinary
// ones; this port just says yes, and as whom.
#pragma once

#include <string>

#include "iam/port.h"

namespace compute::iam {

// The session of the operating-system user `user`: identity `os:<user>`, kind operator, in the root
// tenant.
[[nodiscard]] Session operator_session(const std::string& user, const std::string& root_tenant);

// The name of the user that runs this process; the number when it has no name.
[[nodiscard]] std::string operating_system_user();

// Thread-safe. Allows everything for the reason `operator`, holds nothing, knows no budgets.
// UNAUTHENTICATED for any credential: its session is handed to Envelope::run_as, never presented.
class OperatorPort final : public IamPort {
public:
    [[nodiscard]] Caller authenticate(const crypto::Secret& credential) override;
    [[nodiscard]] Decision authorize(const Session& session, const Question& question) override;
    [[nodiscard]] Decision require(const Session& session, const Question& question) override;
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
};

}  // namespace compute::iam
