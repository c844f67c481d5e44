#include "iam/operator_port.h"

#include <array>

#include <pwd.h>
#include <unistd.h>

namespace compute::iam {
namespace {

constexpr const char* kOperator = "operator";

}  // namespace

Session operator_session(const std::string& user, const std::string& root_tenant) {
    Session session;
    session.caller.identity_id = IdentityId("os:" + user);
    session.caller.tenant_id = TenantId(root_tenant);
    session.caller.identity_kind = kOperator;
    session.caller.session_id = SessionId("os:" + user);
    session.caller.session_kind = kOperator;
    return session;
}

std::string operating_system_user() {
    const uid_t uid = ::geteuid();
    constexpr std::size_t kBufferBytes = 16384;
    std::array<char, kBufferBytes> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
        return found->pw_name;
    }
    return std::to_string(uid);
}

Caller OperatorPort::authenticate(const crypto::Secret& /*credential*/) {
    throw ComputeError(ErrorCode::Unauthenticated, "the credential is not valid");
}

Decision OperatorPort::authorize(const Session& /*session*/, const Question& /*question*/) {
    return {true, kOperator};
}

Decision OperatorPort::require(const Session& /*session*/, const Question& /*question*/) {
    return {true, kOperator};
}

std::optional<Confirmation> OperatorPort::request_confirmation(
    const Session& /*session*/,
    const Question& /*question*/,
    std::string_view /*reason*/,
    std::string_view /*request_hash*/
) {
    return std::nullopt;
}

BillingVerdict OperatorPort::billing_check(
    const Session& /*session*/, const TenantId& /*tenant_id*/, double /*gpu_hours*/
) {
    return {true, std::nullopt};
}

void OperatorPort::sync_resource(const ResourceRef& /*resource*/, const TenantId& /*tenant_id*/) {}

}  // namespace compute::iam
