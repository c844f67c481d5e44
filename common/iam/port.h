// The port to identity and access management. The envelope asks here and nowhere else; behind it stands the embedded IAM
// (iam/local) or a remote one (iam/better_iam). No function may be called while a transaction is open (law 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/ids.h"
#include "crypto/secret.h"
#include "iam/resource.h"

namespace compute::iam {

// Who calls. Lives at most as long as its credential.
struct Caller {
    IdentityId identity_id;
    TenantId tenant_id;
    std::string identity_kind;  // user, service, agent, operator
    SessionId session_id;
    std::string session_kind;  // token, delegated, operator
    bool mfa = false;
    std::optional<std::string> agent_id;
    std::optional<std::string> delegation_id;
    std::optional<EpochMs> expires_at;

    [[nodiscard]] bool is_delegated() const noexcept { return delegation_id.has_value(); }
};

// A session: the caller and the credential it came with.
struct Session {
    Caller caller;
    crypto::Secret credential;
};

struct Question {
    TenantId tenant_id;     // the tenant it is decided in
    std::string action;     // compute:pools:create
    ResourceRef resource;   // with the prefixed type: compute-pool
    std::optional<std::string> source_ip;
    // Of the call's input (Context::request_hash). An approved confirmation admits exactly this request, so a mutation of a
    // delegated session that carries none is never admitted by one.
    std::string request_hash = {};
};

struct Decision {
    bool is_allowed = false;
    std::string reason;  // which statement or rule decided; for the audit row and the log
};

struct Confirmation {
    std::string id;
    std::optional<EpochMs> expires_at;
};

struct BillingVerdict {
    bool is_allowed = false;
    std::optional<std::string> blocked_by;
};

// Thread-safe. Errors: UNAUTHENTICATED when the session is gone, RATE_LIMITED, IAM_UNAVAILABLE when there is no answer in time.
// Never an allow without an answer.
class IamPort {
public:
    virtual ~IamPort() = default;

    // Throws UNAUTHENTICATED for a credential that is unknown, expired, revoked or malformed.
    [[nodiscard]] virtual Caller authenticate(const crypto::Secret& credential) = 0;

    // For reads; the caller of the port may cache an allow.
    [[nodiscard]] virtual Decision authorize(const Session& session, const Question& question) = 0;

    // For mutations; asked anew every time. The verdict is returned, not thrown.
    [[nodiscard]] virtual Decision require(const Session& session, const Question& question) = 0;

    // After a refusal in a delegated session: opens (or finds) a confirmation when the delegation holds the action for one;
    // nullopt when the refusal is final. `reason` is 1..1024 characters for the person who confirms; `request_hash` binds it.
    [[nodiscard]] virtual std::optional<Confirmation> request_confirmation(
        const Session& session, const Question& question, std::string_view reason, std::string_view request_hash
    ) = 0;

    // Whether the tenant's budget allows more use. `gpu_hours` is what is asked for.
    [[nodiscard]] virtual BillingVerdict billing_check(
        const Session& session, const TenantId& tenant_id, double gpu_hours
    ) = 0;

    // Makes the rows of the authz projection known to the IAM before it decides on `resource`; the embedded IAM reads them itself.
    // IAM_UNAVAILABLE when that cannot be done in time.
    virtual void sync_resource(const ResourceRef& resource, const TenantId& tenant_id) = 0;
};

}  // namespace compute::iam
