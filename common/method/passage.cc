#include "method/passage.h"

#include "audit/audit.h"
#include "core/json.h"
#include "crypto/crypto.h"
#include "method/probe.h"

namespace compute::method {
namespace {

constexpr std::size_t kMaxReasonBytes = 1024;

bool is_fleet(const Resource& resource) {
    return resource.type == iam::kFleetType && resource.id == iam::kFleetId;
}

// The action of this call: the method's own, or one that its row lists for this type.
std::string action_of(const Passage& passage, const Resource& resource) {
    const RegisteredMethod& method = passage.method;
    const std::string& own = *method.definition.action;
    const std::string action = resource.action.value_or(own);
    const bool is_listed =
        method.row ? row_lists(*method.row, action, resource.type) : action == own;
    if (!is_listed) {
        throw invalid_config(
            "method " + method.path + ": decides " + action + " on " + resource.type +
            ", which its row does not list"
        );
    }
    return action;
}

std::string reason_for_person(const Passage& passage, const Resource& resource) {
    std::string reason;
    if (passage.method.definition.admission && passage.method.definition.admission->describe) {
        reason = passage.method.definition.admission->describe(passage.input);
    }
    if (reason.empty()) {
        reason = passage.method.path + " on " + resource.type + "/" + resource.id;
    }
    if (reason.size() > kMaxReasonBytes) {
        std::size_t end = kMaxReasonBytes;
        while (end > 0 && (static_cast<unsigned char>(reason[end]) & 0xC0U) == 0x80U) {
            --end;
        }
        reason.resize(end);
    }
    return reason;
}

}  // namespace

std::optional<TenantId> find_tenant(const Json& raw) {
    const auto found = raw.find("tenantId");
    if (found == raw.end() || !found->is_string()) {
        return std::nullopt;
    }
    return TenantId(found->get<std::string>());
}

std::string request_hash_of(const Json& raw) {
    if (!raw.contains("wait") && !raw.contains("idempotencyKey")) {
        return crypto::to_hex(crypto::sha256(canonical_json(raw)));
    }
    Json hashed = raw;
    hashed.erase("wait");
    hashed.erase("idempotencyKey");
    return crypto::to_hex(crypto::sha256(canonical_json(hashed)));
}

void check_tenant(const Passage& passage) {
    const std::string& root = passage.runtime.config.iam.root_tenant;
    const std::string& own = passage.session.caller.tenant_id.str();
    if (own == root || (passage.tenant_id && passage.tenant_id->str() == own)) {
        return;
    }
    passage.trace.reason = "tenant";
    throw ComputeError(ErrorCode::AccessDenied, "Access denied");
}

Asked question_of(const Passage& passage, const std::optional<Resource>& resource) {
    const std::string& path = passage.method.path;
    if (!resource) {
        throw invalid_config("method " + path + ": resource: gives nothing to decide on");
    }
    if (!passage.registry.has_resource_type(resource->type)) {
        throw invalid_config(
            "method " + path + ": no module declares the resource type " + resource->type
        );
    }
    if (!is_fleet(*resource) && !passage.tenant_id) {
        throw invalid_config(
            "method " + path + ": its input names no tenantId and it is not decided on the fleet"
        );
    }
    const std::string action = action_of(passage, *resource);
    const std::string prefix = passage.runtime.config.iam.resource_prefix;
    return Asked{
        .resource = *resource,
        .question = iam::Question{
            .tenant_id = is_fleet(*resource) ? TenantId(passage.runtime.config.iam.root_tenant)
                                             : *passage.tenant_id,
            .action = action,
            .resource = {prefix + resource->type, resource->id},
            .source_ip = passage.call.source_ip,
            .request_hash = passage.request_hash}};
}

iam::Decision ask(const Passage& passage, const Asked& asked) {
    passage.trace.tenant_id = asked.question.tenant_id.str();
    passage.trace.action = asked.question.action;
    passage.trace.resource = asked.question.resource;
    const LatencyTimer timer(*passage.trace.decisions);
    iam::Decision decision =
        passage.authority.decide(passage.method.definition.kind, passage.session, asked.question);
    passage.trace.reason = decision.reason;
    return decision;
}

ComputeError refusal_of(const Passage& passage, const Asked& asked, const iam::Decision& decision) {
    const ErrorExtra extra{.details = nullptr, .log_detail = decision.reason, .hint = {}};
    // Reads are never held: there is nothing in them for a person to confirm.
    if (!passage.session.caller.is_delegated() || passage.method.definition.kind == Kind::Read) {
        return ComputeError(ErrorCode::AccessDenied, "Access denied", extra);
    }
    const auto confirmation = passage.authority.port().request_confirmation(
        passage.session,
        asked.question,
        reason_for_person(passage, asked.resource),
        passage.request_hash
    );
    if (!confirmation) {
        return ComputeError(ErrorCode::AccessDenied, "Access denied", extra);
    }
    Json details{
        {"confirmationId", confirmation->id},
        {"action", asked.question.action},
        {"resource",
         Json{{"type", asked.question.resource.type}, {"id", asked.question.resource.id}}}};
    if (confirmation->expires_at) {
        details["expiresAt"] = *confirmation->expires_at;
    }
    return ComputeError(ErrorCode::ConfirmationRequired, "A person has to confirm this", details);
}

Context context_of(const Passage& passage, store::Transaction* tx) {
    Context context(passage.runtime);
    context.caller = &passage.session.caller;
    context.session = &passage.session;
    context.port = &passage.authority.port();
    context.tenant_id = passage.tenant_id;
    context.path = passage.method.path;
    context.request_id = passage.call.request_id;
    context.source_ip = passage.call.source_ip;
    context.request_hash = passage.request_hash;
    context.tx = tx;
    context.abort = passage.call.abort;
    return context;
}

DecisionContext decision_context(const Asked& asked, const iam::Decision& decision) {
    return {
        .action = asked.question.action,
        .resource = asked.question.resource,
        .reason = decision.reason};
}

void append_audit(
    const Passage& passage,
    store::Transaction& tx,
    const DecisionContext& decision,
    const std::shared_ptr<const Json>& admission,
    const AuditLink& link
) {
    const bool is_fleet_wide =
        decision.resource.type == passage.runtime.config.iam.resource_prefix + iam::kFleetType;
    const TenantId root(passage.runtime.config.iam.root_tenant);
    audit::append(
        tx,
        audit::Entry{
            .caller = &passage.session.caller,
            .tenant_id = is_fleet_wide ? root : passage.tenant_id.value_or(root),
            .method = passage.method.path,
            .action = decision.action,
            .resource = decision.resource,
            .decision_reason = decision.reason,
            .admission = admission,
            .request_id = passage.call.request_id,
            .source_ip = passage.call.source_ip,
            .parent_id = link.parent_id,
            .id = link.id},
        passage.runtime.clock,
        passage.runtime.rng
    );
}

Prepared prepare_alone(const Passage& passage) {
    const Admission<const Input>& admission = *passage.method.definition.admission;
    const auto run = [&](store::Transaction& tx) {
        Context context = context_of(passage, &tx);
        return admission.prepare(context, passage.input, tx);
    };
    store::Database& database = passage.runtime.database;
    return admission.prepares == Prepares::Lookup ? database.read(run) : database.write(run);
}

std::shared_ptr<const Json> admission_record(const Prepared& prepared) {
    Json record{{"resource", Json{{"type", prepared.resource.type}, {"id", prepared.resource.id}}}};
    if (prepared.draft_id) {
        record["draftId"] = *prepared.draft_id;
    }
    if (prepared.context != nullptr) {
        record["context"] = *prepared.context;
    }
    return std::make_shared<const Json>(std::move(record));
}

}  // namespace compute::method
