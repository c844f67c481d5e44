// An IAM for tests: answers by convention or as the test says, and records every question.
//
// Credentials by convention: `<role>:<tenant>`, with `#<name>` for another identity and `@<n>` for
// another session of it.
//   admin:acme      may do everything in acme; admin:root everywhere
//   viewer:acme     may read in acme
//   agent:acme      an agent in a delegated session; like admin, until the policy says otherwise
// Every other credential is unknown, unless the test adds it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/guarded.h"
#include "iam/port.h"

namespace compute::support {

// One question that reached the port.
struct IamCall {
    std::string what;  // auth, authorize, require, confirm, billing, sync
    std::string identity;
    std::string tenant;
    std::string action;
    iam::ResourceRef resource;
    std::string reason;  // of a confirmation
    std::string request_hash;
};

// Thread-safe; set it up before calls are made.
class SpyIam final : public iam::IamPort {
public:
    using Policy = std::function<bool(const iam::Session&, const iam::Question&)>;
    using Confirmations = std::function<std::optional<iam::Confirmation>(
        const iam::Session&, const iam::Question&, std::string_view reason, std::string_view hash
    )>;
    using Billing = std::function<iam::BillingVerdict(const TenantId&, double gpu_hours)>;

    // The caller that a credential of the convention stands for.
    [[nodiscard]] static std::optional<iam::Caller> caller_of(std::string_view credential);

    void add_identity(std::string credential, iam::Caller caller);
    void remove_identity(std::string credential);  // conventional ones too: from then on unknown
    // Replaces the rule of the convention for decisions; an empty one puts it back.
    void set_policy(Policy policy);
    // What request_confirmation answers; nothing is held at first.
    void set_confirmations(Confirmations confirmations);
    void set_billing(Billing billing);
    // From now on every question throws this; nullopt ends it.
    void set_outage(std::optional<ComputeError> error);
    // Called first for every question, on its thread, outside of locks.
    void set_on_call(std::function<void(const IamCall&)> on_call);

    [[nodiscard]] std::vector<IamCall> calls() const;
    [[nodiscard]] int count(std::string_view what) const;
    [[nodiscard]] int decisions() const { return count("authorize") + count("require"); }
    void clear();

    [[nodiscard]] iam::Caller authenticate(const crypto::Secret& credential) override;
    [[nodiscard]] iam::Decision authorize(
        const iam::Session& session, const iam::Question& question
    ) override;
    [[nodiscard]] iam::Decision require(const iam::Session& session, const iam::Question& question)
        override;
    [[nodiscard]] std::optional<iam::Confirmation> request_confirmation(
        const iam::Session& session,
        const iam::Question& question,
        std::string_view reason,
        std::string_view request_hash
    ) override;
    [[nodiscard]] iam::BillingVerdict billing_check(
        const iam::Session& session, const TenantId& tenant_id, double gpu_hours
    ) override;
    void sync_resource(const iam::ResourceRef& resource, const TenantId& tenant_id) override;

private:
    struct Rules {
        std::map<std::string, std::optional<iam::Caller>> identities;  // nullopt: removed
        Policy policy;
        Confirmations confirmations;
        Billing billing;
        std::optional<ComputeError> outage;
        std::function<void(const IamCall&)> on_call;
    };

    Rules record(IamCall call);
    iam::Decision decide(
        const char* what, const iam::Session& session, const iam::Question& question
    );

    Guarded<Rules> rules_;
    Guarded<std::vector<IamCall>> calls_;
};

}  // namespace compute::support
