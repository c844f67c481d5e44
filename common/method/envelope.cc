#include "method/envelope.h"

#include <utility>

#include "core/fail_point.h"
#include "method/passage.h"

namespace compute::method {
namespace {

const RegisteredMethod& get_method(const Registry& registry, const std::string& path) {
    const RegisteredMethod* method = registry.find(path);
    if (method == nullptr) {
        throw not_found("Unknown method " + path.substr(0, 128));
    }
    return *method;
}

Input validated(const RegisteredMethod& method, Json& raw) {
    if (raw.is_null()) {
        raw = Json::object();
    }
    if (!raw.is_object()) {
        throw invalid_input("body: must be an object");
    }
    return method.definition.validate(raw);
}

Json run_public(const Runtime& runtime, const RegisteredMethod& method, Call& call) {
    const Input input = validated(method, call.input);
    return runtime.database.read([&](store::Transaction& tx) {
        Context context(runtime);
        context.credential = call.credential;
        context.tenant_id = find_tenant(call.input);
        context.path = method.path;
        context.request_id = call.request_id;
        context.source_ip = call.source_ip;
        context.tx = &tx;
        context.abort = call.abort;
        return method.definition.handler(context, input);
    });
}

// The handler of a read or a plain mutation, in the one transaction of the call.
Json run_handler(const Passage& passage, const DecisionContext& decided) {
    const auto run = [&](store::Transaction& tx) {
        Context context = context_of(passage, &tx);
        context.decision = decided;
        return passage.method.definition.handler(context, passage.input);
    };
    if (passage.method.definition.kind == Kind::Read) {
        return passage.runtime.database.read(run);
    }
    Json output = passage.runtime.database.write([&](store::Transaction& tx) {
        Json made = run(tx);
        // Behind the handler and in its transaction: the row is there exactly when the change is.
        append_audit(passage, tx, decided, nullptr, {});
        return made;
    });
    fail_point("envelope.committed");
    return output;
}

// The one that goes on to the caller: nothing of a defect's text is left in it.
ComputeError for_caller(const ComputeError& error) {
    if (error.code() == ErrorCode::InternalError) {
        const std::string& detail = error.log_detail();
        return internal_error(detail.empty() ? error.message() : detail);
    }
    // A module that did not catch the violation itself was overtaken by another call.
    if (dynamic_cast<const store::UniqueViolation*>(&error) != nullptr &&
        error.details() == nullptr) {
        return ComputeError(
            ErrorCode::Conflict, error.message(), Json{{"reason", "concurrent-change"}}
        );
    }
    return error;
}

bool is_refusal(ErrorCode code) {
    return code == ErrorCode::Unauthenticated || code == ErrorCode::AccessDenied ||
           code == ErrorCode::ConfirmationRequired;
}

}  // namespace

struct Envelope::Impl {
    Impl(const Registry& registry_in, const Runtime& runtime_in, EnvelopeOptions options_in)
        : registry(registry_in),
          runtime(runtime_in),
          options(options_in),
          port(runtime_in.iam),
          gate(
              port,
              runtime_in.clock,
              {.auth_cache_ms = runtime_in.config.iam.auth_cache_ms,
               .read_cache_ms = runtime_in.config.iam.read_cache_ms}
          ),
          authority(gate),
          outcomes(registry_in) {}

    // The contract's order. `operator_session` is given when the caller is known already (run_as).
    Json pass(
        Authority& who_decides, const iam::Session* operator_session, Call& call, Trace& trace
    ) {
        const RegisteredMethod& method = get_method(registry, call.path);
        trace.method = &method;
        const MethodDefinition& definition = method.definition;
        if (definition.kind == Kind::Public) {
            return run_public(runtime, method, call);
        }

        // Before the body is looked at: who shows no credential learns nothing, not even about the
        // input.
        if (operator_session == nullptr && (!call.credential || call.credential->empty())) {
            throw ComputeError(ErrorCode::Unauthenticated, "A credential is required");
        }

        // Before the caller is authenticated: a malformed request never costs a call of the IAM or
        // a statement.
        const Input input = validated(method, call.input);

        const iam::Session session =
            operator_session != nullptr ? *operator_session : gate.authenticate(*call.credential);
        trace.identity_id = session.caller.identity_id.str();

        Passage passage{
            .registry = registry,
            .runtime = runtime,
            .authority = who_decides,
            .call = call,
            .method = method,
            .session = session,
            .raw = call.input,
            .input = input,
            .tenant_id = find_tenant(call.input),
            .request_hash =
                definition.kind == Kind::Mutation ? request_hash_of(call.input) : std::string(),
            .trace = trace};
        trace.tenant_id = passage.tenant_id ? passage.tenant_id->str() : std::string();

        // A pure projection of the input, so it may run before anything is known of the caller's
        // rights. An admission learns its resource only in prepare.
        const std::optional<Resource> resource = definition.resource(input);
        std::optional<Asked> asked;
        if (!definition.admission) {
            asked = question_of(passage, resource);
        }

        // Before our database is read or the IAM is asked: a foreign tenant's caller costs nothing
        // and learns nothing.
        check_tenant(passage);

        Json output;
        if (definition.admission) {
            output = run_admitted(passage);
        } else {
            // The one decision, before the transaction opens: a refusal opens none.
            const iam::Decision decision = ask(passage, *asked);
            if (!decision.is_allowed) {
                throw refusal_of(passage, *asked, decision);
            }
            output = definition.transaction == TransactionMode::Manual
                         ? run_composite(passage, *asked, decision)
                         : run_handler(passage, decision_context(*asked, decision));
        }
        if (definition.kind == Kind::Mutation) {
            // Whatever the session was allowed to read may have changed by what it just did.
            who_decides.forget_reads(session);
        }

        // Behind the commit: waiting changes nothing any more.
        return wait_until_done(passage, std::move(output));
    }

    // The one place where what was thrown becomes the error of the answer; each outcome is counted
    // and logged once.
    Json run(Authority& who_decides, const iam::Session* operator_session, Call& call) {
        if (!call.abort) {
            call.abort = [] { return false; };
        }
        Trace trace;
        trace.decisions = &outcomes.decisions();
        const std::int64_t start = runtime.clock.steady_ms();
        const auto fail = [&](const ComputeError& error) -> ComputeError {
            settle(call, trace, start, error);
            return for_caller(error);
        };
        try {
            Json output = pass(who_decides, operator_session, call, trace);
            outcomes.count(trace.method, std::nullopt, elapsed_us(start));
            return output;
        } catch (const ComputeError& error) {
            throw fail(error);
        } catch (const std::exception& error) {
            throw fail(internal_error(error.what()));
        } catch (...) {
            throw fail(internal_error("something was thrown that is no std::exception"));
        }
    }

    [[nodiscard]] std::uint64_t elapsed_us(std::int64_t start) const {
        return static_cast<std::uint64_t>(runtime.clock.steady_ms() - start) * 1000;
    }

    void settle(
        const Call& call, const Trace& trace, std::int64_t start, const ComputeError& error
    ) {
        outcomes.count(trace.method, error.code(), elapsed_us(start));
        const std::string code(error_info(error.code()).name);
        if (error_info(error.code()).http_status >= 500) {
            const std::string detail = error.log_detail().empty()
                                           ? error.message()
                                           : error.message() + ": " + error.log_detail();
            runtime.log.write(
                error.code() == ErrorCode::InternalError ? LogLevel::Error : LogLevel::Warning,
                "call.failed",
                {{"path", call.path.substr(0, 256)},
                 {"code", code},
                 {"request", call.request_id},
                 {"identity", trace.identity_id},
                 {"detail", detail}}
            );
            return;
        }
        const std::string resource =
            trace.resource.type.empty() ? "" : trace.resource.type + "/" + trace.resource.id;
        runtime.log.info(
            "call.refused",
            {{"path", call.path.substr(0, 256)},
             {"code", code},
             {"request", call.request_id},
             {"identity", trace.identity_id},
             {"tenant", trace.tenant_id},
             {"action", trace.action},
             {"resource", resource},
             {"reason", is_refusal(error.code()) ? trace.reason : error.message()}}
        );
        if (options.denials != nullptr && is_refusal(error.code())) {
            options.denials->add(Refusal{
                .time = runtime.clock.now_ms(),
                .code = error.code(),
                .path = call.path.substr(0, 256),
                .request_id = call.request_id,
                .identity_id = trace.identity_id,
                .tenant_id = trace.tenant_id,
                .action = trace.action,
                .resource = trace.resource,
                .reason = trace.reason,
                .source_ip = call.source_ip.value_or("")});
        }
    }

    const Registry& registry;
    const Runtime& runtime;
    EnvelopeOptions options;
    LawfulPort port;
    iam::Gate gate;
    Authority authority;
    Outcomes outcomes;
};

Envelope::Envelope(const Registry& registry, const Runtime& runtime, EnvelopeOptions options)
    : impl_(std::make_unique<Impl>(registry, runtime, options)) {}

Envelope::~Envelope() = default;

Json Envelope::run(Call call) {
    return impl_->run(impl_->authority, nullptr, call);
}

Json Envelope::run_as(const iam::Session& session, iam::IamPort& port, Call call) {
    LawfulPort lawful(port);
    Authority authority(lawful);
    return impl_->run(authority, &session, call);
}

const Outcomes& Envelope::outcomes() const noexcept {
    return impl_->outcomes;
}

}  // namespace compute::method
