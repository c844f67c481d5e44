// Who answers for a call: the process's gate with its caches, or a port of the call's own
// (deployment commands, where nothing is cached). Inside this room only.
#pragma once

#include <optional>
#include <string_view>

#include "iam/gate.h"
#include "method/definition.h"

namespace compute::method {

// Law 2 in code: the port behind it is never reached while this thread is inside a transaction;
// INTERNAL_ERROR instead.
class LawfulPort final : public iam::IamPort {
public:
    explicit LawfulPort(iam::IamPort& port) : port_(&port) {}

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
    iam::IamPort* port_;
};

// Points to what it is made of. Thread-safe.
class Authority {
public:
    explicit Authority(iam::Gate& gate) : gate_(&gate), port_(&gate.port()) {}
    explicit Authority(iam::IamPort& port) : port_(&port) {}

    // One decision: a read's allow may come from the cache, a mutation's never.
    [[nodiscard]] iam::Decision decide(
        Kind kind, const iam::Session& session, const iam::Question& question
    );
    void forget_reads(const iam::Session& session);
    [[nodiscard]] iam::IamPort& port() noexcept { return *port_; }

private:
    iam::Gate* gate_ = nullptr;
    iam::IamPort* port_;
};

}  // namespace compute::method
