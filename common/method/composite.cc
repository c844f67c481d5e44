// Composites: a mutation that is made of other methods. Each of these is decided first, as the
// caller and with no transaction open
// (`check`), which leaves a grant; then each runs in a savepoint of the composite's own transaction
// (`invoke`) and uses up its grant.
#include <map>
#include <utility>
#include <vector>

#include "audit/audit.h"
#include "core/json.h"
#include "method/passage.h"

namespace compute::method {
namespace {

// What check() found out about one sub-call; one invoke() may act on it.
struct Grant {
    const RegisteredMethod* method = nullptr;
    Input input;  // the very object that check ran on
    std::optional<TenantId> tenant_id;
    std::string request_hash;
    std::optional<Resource> resource;         // nothing when check found a replay
    std::optional<DecisionContext> decision;  // ditto
};

constexpr const char* kAttempt = "method.composite-attempt";

void check_composable(const RegisteredMethod& method) {
    const auto refuse = [&](const char* why) {
        throw ComputeError(
            ErrorCode::Unsupported,
            "method " + method.path + " cannot be part of a composite: " + why
        );
    };
    if (method.definition.transaction == TransactionMode::Manual) {
        refuse("it is one itself");
    }
    if (method.definition.admission && method.definition.admission->denied) {
        refuse("its admission keeps drafts");
    }
    if (method.row && method.row->is_list_per_item) {
        refuse("it decides its items one by one");
    }
    if (method.definition.kind == Kind::Public) {
        refuse("it is public and needs no decision");
    }
}

// One composite call. Used by the handler's thread, and on SQLite by the writer while that thread
// waits for it.
class Composite {
public:
    Composite(const Passage& outer, std::string audit_id)
        : outer_(&outer), audit_id_(std::move(audit_id)) {}

    void check(std::string_view path, const Json& raw) {
        if (store::transaction_depth() != 0) {
            throw ComputeError(ErrorCode::InvalidState, "check cannot run inside a transaction");
        }
        const RegisteredMethod& method = get_method(path);
        check_composable(method);
        Grant grant{
            .method = &method,
            .input = method.definition.validate(raw),
            .tenant_id = find_tenant(raw),
            .request_hash = {},
            .resource = {},
            .decision = {}};
        if (method.definition.kind == Kind::Mutation) {
            grant.request_hash = request_hash_of(raw);
        }
        decide(passage_of(grant, raw), grant);
        grants_.emplace(key_of(path, raw), std::move(grant));
    }

    Json invoke(store::Transaction& tx, std::string_view path, const Json& raw) {
        follow(tx);
        const auto found = outer_ == nullptr ? grants_.end() : grants_.find(key_of(path, raw));
        if (found == grants_.end()) {
            throw ComputeError(
                ErrorCode::AccessDenied,
                "method " + std::string(path) + " was not checked with this input"
            );
        }
        used_.push_back(grants_.extract(found));
        // Registered by each invoke: one whose savepoint the handler rolls back takes its own
        // registration with it.
        tx.after_commit([this] { used_.clear(); });
        const Grant grant = used_.back().mapped();
        return tx.savepoint([&] { return run(tx, passage_of(grant, raw), grant); });
    }

    // Grants live as long as the call: what kept hold of check or invoke finds nothing behind them.
    void close() {
        outer_ = nullptr;
        grants_.clear();
        used_.clear();
    }

private:
    using Grants = std::multimap<std::string, Grant>;

    // A path has no line feed, so the two cannot run into each other.
    static std::string key_of(std::string_view path, const Json& raw) {
        return std::string(path) + "\n" + canonical_json(raw);
    }

    const RegisteredMethod& get_method(std::string_view path) const {
        const RegisteredMethod* method = outer_ == nullptr ? nullptr : outer_->registry.find(path);
        if (method == nullptr) {
            throw not_found("Unknown method " + std::string(path.substr(0, 128)));
        }
        return *method;
    }

    Passage passage_of(const Grant& grant, const Json& raw) {
        return Passage{
            .registry = outer_->registry,
            .runtime = outer_->runtime,
            .authority = outer_->authority,
            .call = outer_->call,
            .method = *grant.method,
            .session = outer_->session,
            .raw = raw,
            .input = grant.input,
            .tenant_id = grant.tenant_id,
            .request_hash = grant.request_hash,
            .trace = outer_->trace};
    }

    // Pre-check, decision and admission.check, as the envelope makes them for a call of its own.
    static void decide(const Passage& passage, Grant& grant) {
        const MethodDefinition& definition = grant.method->definition;
        std::optional<Resource> resource = definition.resource(grant.input);
        if (!definition.admission) {
            (void)question_of(passage, resource);
        }
        check_tenant(passage);
        if (definition.admission) {
            const Prepared prepared = prepare_alone(passage);
            if (prepared.status == Prepared::Status::Replay) {
                return;
            }
            resource = prepared.resource;
        }
        const Asked asked = question_of(passage, resource);
        if (definition.admission) {
            passage.authority.port().sync_resource(
                asked.question.resource, asked.question.tenant_id
            );
        }
        const iam::Decision decision = ask(passage, asked);
        if (!decision.is_allowed) {
            throw refusal_of(passage, asked, decision);
        }
        grant.resource = asked.resource;
        grant.decision = decision_context(asked, decision);
        if (definition.admission && definition.admission->check) {
            Context context = context_of(passage, nullptr);
            context.decision = grant.decision;
            definition.admission->check(context, grant.input, asked.resource);
        }
    }

    Json run(store::Transaction& tx, const Passage& passage, const Grant& grant) const {
        const MethodDefinition& definition = grant.method->definition;
        Context context = context_of(passage, &tx);
        std::shared_ptr<const Json> record;
        if (definition.admission) {
            const Prepared prepared = definition.admission->prepare(context, grant.input, tx);
            if (prepared.status == Prepared::Status::Replay) {
                return prepared.result;
            }
            // What was a replay when it was checked was never decided, and what is another thing
            // now was decided as something else.
            if (!grant.resource || !(*grant.resource == prepared.resource)) {
                throw ComputeError(
                    ErrorCode::AccessDenied,
                    "method " + passage.method.path + " was checked for something else"
                );
            }
            context.admission =
                AdmissionContext{.resource = prepared.resource, .draft_id = prepared.draft_id};
            record = admission_record(prepared);
        }
        context.decision = grant.decision;
        Json output = definition.handler(context, grant.input);
        if (definition.kind == Kind::Mutation) {
            append_audit(passage, tx, *grant.decision, record, {.id = {}, .parent_id = audit_id_});
        }
        return output;
    }

    // The store may run the body of a transaction again. What an attempt used up comes back when
    // the attempt was rolled back; what a committed one used up is gone.
    void follow(store::Transaction& tx) {
        auto& memo = tx.memo(kAttempt);
        if (memo) {
            return;
        }
        memo = 1;
        for (auto& node : used_) {
            grants_.insert(std::move(node));
        }
        used_.clear();
    }

    const Passage* outer_;
    std::string audit_id_;
    Grants grants_;
    std::vector<Grants::node_type>
        used_;  // by the transaction under way, or by one that was rolled back
};

}  // namespace

Json run_composite(const Passage& passage, const Asked& asked, const iam::Decision& decision) {
    const std::string audit_id = audit::new_entry_id(passage.runtime.clock, passage.runtime.rng);
    const DecisionContext decided = decision_context(asked, decision);
    // Shared because a handler may copy the context's functions and outlive the call with them.
    const auto composite = std::make_shared<Composite>(passage, audit_id);
    struct Closer {
        Composite& composite;
        ~Closer() { composite.close(); }
    } const closer{*composite};

    Context context = context_of(passage, nullptr);
    context.decision = decided;
    context.check = [composite](std::string_view path, const Json& input) {
        composite->check(path, input);
    };
    context.invoke = [composite](store::Transaction& tx, std::string_view path, const Json& input) {
        return composite->invoke(tx, path, input);
    };
    Json output = passage.method.definition.handler(context, passage.input);
    // If the process dies here, what the composite did is committed with the audit row of each
    // sub-call; only its own row is missing.
    passage.runtime.database.write([&](store::Transaction& tx) {
        append_audit(passage, tx, decided, nullptr, {.id = audit_id, .parent_id = {}});
    });
    return output;
}

}  // namespace compute::method
