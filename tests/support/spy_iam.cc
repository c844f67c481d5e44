#include "tests/support/spy_iam.h"

#include <algorithm>

namespace compute::support {
namespace {

bool allowed_by_convention(
    bool is_read, const iam::Session& session, const iam::Question& question
) {
    const iam::Caller& caller = session.caller;
    if (caller.tenant_id.str() != "root" && caller.tenant_id != question.tenant_id) {
        return false;
    }
    return is_read || !caller.identity_id.str().starts_with("viewer");
}

IamCall question_call(
    const char* what, const iam::Session& session, const iam::Question& question
) {
    return {
        .what = what,
        .identity = session.caller.identity_id.str(),
        .tenant = question.tenant_id.str(),
        .action = question.action,
        .resource = question.resource,
        .reason = {},
        .request_hash = question.request_hash};
}

}  // namespace

std::optional<iam::Caller> SpyIam::caller_of(std::string_view credential) {
    const std::size_t colon = credential.find(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view role = credential.substr(0, colon);
    if (role != "admin" && role != "viewer" && role != "agent") {
        return std::nullopt;
    }
    const std::string_view identity = credential.substr(0, credential.find('@'));
    const std::string_view place = identity.substr(colon + 1);
    iam::Caller caller;
    caller.identity_id = IdentityId(std::string(identity));
    caller.tenant_id = TenantId(std::string(place.substr(0, place.find('#'))));
    caller.identity_kind = "user";
    caller.session_id = SessionId("ses-" + std::string(credential));
    caller.session_kind = "token";
    if (role == "agent") {
        caller.identity_kind = "agent";
        caller.session_kind = "delegated";
        caller.agent_id = "agt-" + std::string(place);
        caller.delegation_id = "dlg-" + std::string(place);
    }
    return caller;
}

void SpyIam::add_identity(std::string credential, iam::Caller caller) {
    rules_.with([&](Rules& rules) {
        rules.identities.insert_or_assign(std::move(credential), std::move(caller));
    });
}

void SpyIam::remove_identity(std::string credential) {
    rules_.with([&](Rules& rules) {
        rules.identities.insert_or_assign(std::move(credential), std::nullopt);
    });
}

void SpyIam::set_policy(Policy policy) {
    rules_.with([&](Rules& rules) { rules.policy = std::move(policy); });
}

void SpyIam::set_confirmations(Confirmations confirmations) {
    rules_.with([&](Rules& rules) { rules.confirmations = std::move(confirmations); });
}

void SpyIam::set_billing(Billing billing) {
    rules_.with([&](Rules& rules) { rules.billing = std::move(billing); });
}

void SpyIam::set_outage(std::optional<ComputeError> error) {
    rules_.with([&](Rules& rules) { rules.outage = std::move(error); });
}

void SpyIam::set_on_call(std::function<void(const IamCall&)> on_call) {
    rules_.with([&](Rules& rules) { rules.on_call = std::move(on_call); });
}

std::vector<IamCall> SpyIam::calls() const {
    return calls_.with([](const auto& calls) { return calls; });
}

int SpyIam::count(std::string_view what) const {
    return calls_.with([&](const auto& calls) {
        return static_cast<int>(std::count_if(calls.begin(), calls.end(), [&](const IamCall& call) {
            return call.what == what;
        }));
    });
}

void SpyIam::clear() {
    calls_.with([](auto& calls) { calls.clear(); });
}

SpyIam::Rules SpyIam::record(IamCall call) {
    Rules rules = rules_.with([](const Rules& all) { return all; });
    if (rules.on_call) {
        rules.on_call(call);
    }
    calls_.with([&](auto& calls) { calls.push_back(std::move(call)); });
    if (rules.outage) {
        throw *rules.outage;
    }
    return rules;
}

iam::Caller SpyIam::authenticate(const crypto::Secret& credential) {
    const std::string text(credential.reveal());
    const auto conventional = caller_of(text);
    const Rules rules = record(IamCall{
        .what = "auth",
        .identity = conventional ? conventional->identity_id.str() : "",
        .tenant = {},
        .action = {},
        .resource = {},
        .reason = {},
        .request_hash = {}});
    const auto added = rules.identities.find(text);
    const auto caller = added != rules.identities.end() ? added->second : conventional;
    if (!caller) {
        throw ComputeError(ErrorCode::Unauthenticated, "The credential is not valid");
    }
    return *caller;
}

iam::Decision SpyIam::decide(
    const char* what, const iam::Session& session, const iam::Question& question
) {
    const Rules rules = record(question_call(what, session, question));
    const bool is_allowed =
        rules.policy
            ? rules.policy(session, question)
            : allowed_by_convention(std::string_view(what) == "authorize", session, question);
    return {.is_allowed = is_allowed, .reason = is_allowed ? "spy allows" : "spy denies"};
}

iam::Decision SpyIam::authorize(const iam::Session& session, const iam::Question& question) {
    return decide("authorize", session, question);
}

iam::Decision SpyIam::require(const iam::Session& session, const iam::Question& question) {
    return decide("require", session, question);
}

std::optional<iam::Confirmation> SpyIam::request_confirmation(
    const iam::Session& session,
    const iam::Question& question,
    std::string_view reason,
    std::string_view request_hash
) {
    IamCall call = question_call("confirm", session, question);
    call.reason = std::string(reason);
    call.request_hash = std::string(request_hash);
    const Rules rules = record(std::move(call));
    return rules.confirmations ? rules.confirmations(session, question, reason, request_hash)
                               : std::nullopt;
}

iam::BillingVerdict SpyIam::billing_check(
    const iam::Session& session, const TenantId& tenant_id, double gpu_hours
) {
    const Rules rules = record(IamCall{
        .what = "billing",
        .identity = session.caller.identity_id.str(),
        .tenant = tenant_id.str(),
        .action = {},
        .resource = {},
        .reason = {},
        .request_hash = {}});
    return rules.billing ? rules.billing(tenant_id, gpu_hours)
                         : iam::BillingVerdict{.is_allowed = true, .blocked_by = {}};
}

void SpyIam::sync_resource(const iam::ResourceRef& resource, const TenantId& tenant_id) {
    (void)record(IamCall{
        .what = "sync",
        .identity = {},
        .tenant = tenant_id.str(),
        .action = {},
        .resource = resource,
        .reason = {},
        .request_hash = {}});
}

}  // namespace compute::support
