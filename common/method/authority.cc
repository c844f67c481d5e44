#include "method/authority.h"

#include "store/database.h"

namespace compute::method {
namespace {

void check_no_transaction(const char* what) {
    if (store::transaction_depth() != 0) {
        throw internal_error(
            std::string("the IAM was asked to ") + what + " while a transaction is open"
        );
    }
}

}  // namespace

iam::Caller LawfulPort::authenticate(const crypto::Secret& credential) {
    check_no_transaction("authenticate");
    return port_->authenticate(credential);
}

iam::Decision LawfulPort::authorize(const iam::Session& session, const iam::Question& question) {
    check_no_transaction("authorize");
    return port_->authorize(session, question);
}

iam::Decision LawfulPort::require(const iam::Session& session, const iam::Question& question) {
    check_no_transaction("require");
    return port_->require(session, question);
}

std::optional<iam::Confirmation> LawfulPort::request_confirmation(
    const iam::Session& session,
    const iam::Question& question,
    std::string_view reason,
    std::string_view request_hash
) {
    check_no_transaction("open a confirmation");
    return port_->request_confirmation(session, question, reason, request_hash);
}

iam::BillingVerdict LawfulPort::billing_check(
    const iam::Session& session, const TenantId& tenant_id, double gpu_hours
) {
    check_no_transaction("check a budget");
    return port_->billing_check(session, tenant_id, gpu_hours);
}

void LawfulPort::sync_resource(const iam::ResourceRef& resource, const TenantId& tenant_id) {
    check_no_transaction("learn a resource");
    port_->sync_resource(resource, tenant_id);
}

iam::Decision Authority::decide(
    Kind kind, const iam::Session& session, const iam::Question& question
) {
    if (gate_ == nullptr) {
        return kind == Kind::Read ? port_->authorize(session, question)
                                  : port_->require(session, question);
    }
    return kind == Kind::Read ? gate_->decide_read(session, question)
                              : gate_->decide_mutation(session, question);
}

void Authority::forget_reads(const iam::Session& session) {
    if (gate_ != nullptr) {
        gate_->forget_reads(session);
    }
}

}  // namespace compute::method
