#include "iam/local/local_iam.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "iam/local/confirmations.h"
#include "iam/usage.h"

namespace compute::iam::local {
namespace {

// The type without the IAM prefix, as the projection has it; empty when the prefix is not ours.
std::string projected_type(const std::string& type, const std::string& prefix) {
    return type.starts_with(prefix) ? type.substr(prefix.size()) : std::string();
}

// Session facts win over attributes of the same name (which are refused when saved).
Json principal_facts(const Principal& principal, const Caller& caller) {
    Json facts = principal.facts;
    facts["sessionId"] = caller.session_id.str();
    facts["mfa"] = caller.mfa;
    if (caller.agent_id) {
        facts["agentId"] = *caller.agent_id;
    }
    if (caller.delegation_id) {
        facts["delegationId"] = *caller.delegation_id;
    }
    return facts;
}

// A resource without a row of its own (a tenant, the fleet) stands in the tenant it is decided in.
// A row of another tenant is not seen at all, so that a guessed id answers like one that does not
// exist.
Json resource_facts(const LiveSession& session, const TenantId& tenant_id) {
    Json facts = session.attributes ? Json::parse(*session.attributes) : Json::object();
    if (session.pending) {
        facts.update(Json::parse(*session.pending));
    }
    facts["tenantId"] = tenant_id.str();
    facts["ownerId"] = session.owner_id ? Json(*session.owner_id) : Json();
    return facts;
}

bool reads_facts(const Documents& documents) {
    const auto read = [](const std::vector<Source>& sources) {
        return std::any_of(sources.begin(), sources.end(), [](const Source& source) {
            return source.policy->reads_facts();
        });
    };
    return read(documents.grants) || read(documents.boundaries) || read(documents.only_denies);
}

Json request_facts(const Question& question, EpochMs now) {
    Json facts{{"time", iso_time(now)}};
    if (question.source_ip) {
        facts["sourceIp"] = *question.source_ip;
    }
    return facts;
}

}  // namespace

struct LocalIam::Judged {
    LiveSession session;
    Verdict verdict;
    std::vector<Step> steps;
};

LocalIam::LocalIam(store::Database& database, Clock& clock, Rng& rng, LocalIamOptions options)
    : database_(database),
      clock_(clock),
      rng_(rng),
      options_(std::move(options)),
      directory_(database) {}

Caller LocalIam::authenticate(const crypto::Secret& credential) {
    return get_live_session(database_, clock_, credential).caller;
}

LocalIam::Judged LocalIam::judge(
    const crypto::Secret& credential, const Question& question, Detail detail
) {
    Judged judged;
    const ResourceRef row{
        projected_type(question.resource.type, options_.resource_prefix), question.resource.id};
    judged.session = get_live_session(database_, clock_, credential, row, question.tenant_id);
    const LiveSession& session = judged.session;
    const Caller& caller = session.caller;

    const auto principal =
        directory_.principal(caller.tenant_id, caller.identity_id, session.revision);
    Documents documents{principal->grants, principal->boundaries, {}};
    if (session.scope) {
        documents.boundaries.push_back(
            {"the scope of token " + caller.session_id.str(), directory_.policy(*session.scope)}
        );
    }
    if (session.delegation) {
        documents.boundaries.push_back(
            {"the scopes of delegation " + session.delegation->id,
             directory_.actions_policy(session.delegation->scopes)}
        );
        // The agent acts with its subject's rights; what its own policies forbid stays forbidden.
        const auto agent = directory_.principal(
            caller.tenant_id, IdentityId(session.delegation->agent), session.revision
        );
        documents.only_denies = agent->grants;
    }
    Json principal_json;
    Json resource_json;
    Json request_json;
    // Most documents name actions and resources only; collecting facts that none of them looks at
    // would cost more than the verdict.
    if (reads_facts(documents)) {
        principal_json = principal_facts(*principal, caller);
        resource_json = resource_facts(session, question.tenant_id);
        request_json = request_facts(question, clock_.now_ms());
    }
    const Request request{
        question.action,
        question.resource.type + "/" + question.resource.id,
        Facts{&principal_json, &resource_json, &request_json}};
    if (detail == Detail::Trace) {
        judged.steps = trace(documents, request);
    }
    // Policies of a root identity apply in every tenant, others only in their own.
    if (caller.tenant_id != question.tenant_id && caller.tenant_id.str() != options_.root_tenant) {
        judged.verdict.decision = {false, "the identity belongs to another tenant"};
        return judged;
    }
    judged.verdict.decision = evaluate(documents, request);
    if (judged.verdict.decision.is_allowed && session.delegation) {
        const auto confirm = directory_.actions_policy(session.delegation->confirm);
        judged.verdict.is_held = confirm->find(Effect::Allow, request).has_value();
    }
    return judged;
}

Decision LocalIam::authorize(const Session& session, const Question& question) {
    Verdict verdict = judge(session.credential, question, Detail::Verdict).verdict;
    if (verdict.is_held) {
        return {false, "held for confirmation by the delegation"};
    }
    return std::move(verdict.decision);
}

Decision LocalIam::require(const Session& session, const Question& question) {
    Judged judged = judge(session.credential, question, Detail::Verdict);
    if (!judged.verdict.is_held) {
        return std::move(judged.verdict.decision);
    }
    const auto used =
        use_confirmation(database_, clock_, held_request(judged.session.caller, question));
    if (!used) {
        return {false, "held for confirmation by the delegation"};
    }
    return {true, judged.verdict.decision.reason + "; confirmed by " + *used};
}

std::optional<Confirmation> LocalIam::request_confirmation(
    const Session& session,
    const Question& question,
    std::string_view reason,
    std::string_view request_hash
) {
    const Judged judged = judge(session.credential, question, Detail::Verdict);
    if (!judged.verdict.is_held) {
        return std::nullopt;
    }
    HeldRequest held = held_request(judged.session.caller, question);
    held.request_hash = request_hash;
    return open_confirmation(database_, clock_, rng_, held, reason);
}

BillingVerdict LocalIam::billing_check(
    const Session& session, const TenantId& tenant_id, double gpu_hours
) {
    (void)get_live_session(database_, clock_, session.credential);
    const auto exceeded = database_.read(
        [&](store::Transaction& tx) {
            return find_exceeded_budget(tx, tenant_id, clock_.now_ms(), gpu_hours);
        },
        store::Purpose::Iam
    );
    return {!exceeded, exceeded};
}

void LocalIam::sync_resource(const ResourceRef& /*resource*/, const TenantId& /*tenant_id*/) {}

Explanation LocalIam::explain(const crypto::Secret& token, const Question& question) {
    Judged judged = judge(token, question, Detail::Trace);
    return {std::move(judged.session.caller), std::move(judged.verdict), std::move(judged.steps)};
}

}  // namespace compute::iam::local
