// Admissions: the request is written down first, decided on as a thing with attributes, and only
// then made real.
//
//   transaction 1 { prepare }             the draft and its projection row are there, undecided;
//                                         read-only when prepare only looks for an earlier call
//   decision                              one require, on what prepare named
//     refused: transaction { denied }     the draft is marked; the caller gets the refusal either
//     way
//   check                                 may ask the IAM; a throw leaves the draft as it is, so a
//   retry is decided again transaction 2 { handler; audit }      the draft becomes real
//     threw: transaction 3 { abandoned }  what prepare staged is taken back; the caller gets the
//     handler's error
//
// If the process dies
//   - after transaction 1: the draft is undecided and nothing holds capacity for it; a retry with
//   the same key finds it in prepare and
//     goes on from there, and what is never retried is an old draft that the module prunes;
//   - between the refusal and `denied`: the same, the retry is refused again;
//   - between the allow and transaction 2: the same, the retry asks again (an allow is kept
//   nowhere);
//   - inside transaction 2: it did not happen, audit row included;
//   - behind its commit: it happened, and the retry is a replay;
//   - between a handler's throw and `abandoned`: what prepare staged stays until the retry's
//   prepare stages it anew.
#include "core/fail_point.h"
#include "method/passage.h"

namespace compute::method {
namespace {

// Runs a clean-up in a transaction of its own. Its failure is logged and never reaches the caller,
// who gets the error that made it necessary.
template <class Function>
void clean_up(const Passage& passage, const char* hook, Function&& function) {
    std::string fault;
    try {
        passage.runtime.database.write([&](store::Transaction& tx) { function(tx); });
        return;
    } catch (const ComputeError& error) {
        fault = error.message() + (error.log_detail().empty() ? "" : ": " + error.log_detail());
    } catch (const std::exception& error) {
        fault = error.what();
    } catch (...) {
        fault = "not a std::exception";
    }
    passage.runtime.log.error(
        "admission.hook-failed",
        {{"hook", hook},
         {"path", passage.method.path},
         {"request", passage.call.request_id},
         {"error", fault}}
    );
}

[[noreturn]] void refuse(
    const Passage& passage,
    const Asked& asked,
    const iam::Decision& decision,
    const Admission<const Input>& admission
) {
    const ComputeError refusal = refusal_of(passage, asked, decision);
    fail_point("admission.before-denied");
    if (admission.denied) {
        clean_up(passage, "denied", [&](store::Transaction& tx) {
            Context context = context_of(passage, &tx);
            admission.denied(context, passage.input, tx, refusal);
        });
    }
    throw refusal;
}

}  // namespace

Json run_admitted(const Passage& passage) {
    const MethodDefinition& definition = passage.method.definition;
    const Admission<const Input>& admission = *definition.admission;
    store::Database& database = passage.runtime.database;

    const Prepared prepared = prepare_alone(passage);
    fail_point("admission.prepared");
    if (prepared.status == Prepared::Status::Replay) {
        return prepared.result;
    }

    const Asked asked = question_of(passage, prepared.resource);
    // The draft was committed a moment ago: a remote IAM has to know its attributes before it can
    // decide on them.
    passage.authority.port().sync_resource(asked.question.resource, asked.question.tenant_id);
    const iam::Decision decision = ask(passage, asked);
    if (!decision.is_allowed) {
        refuse(passage, asked, decision, admission);
    }
    fail_point("admission.allowed");

    const AdmissionContext admitted{.resource = prepared.resource, .draft_id = prepared.draft_id};
    const DecisionContext decided = decision_context(asked, decision);
    if (admission.check) {
        Context context = context_of(passage, nullptr);
        context.admission = admitted;
        context.decision = decided;
        admission.check(context, passage.input, prepared.resource);
    }

    const auto record = admission_record(prepared);
    const auto abandon = [&](const std::exception& error) {
        fail_point("admission.before-abandoned");
        if (!admission.abandoned) {
            return;
        }
        // A connection lost at the commit throws too, and the handler's work may be there:
        // `abandoned` looks at the state it finds.
        clean_up(passage, "abandoned", [&](store::Transaction& tx) {
            Context context = context_of(passage, &tx);
            context.admission = admitted;
            admission.abandoned(context, passage.input, tx, error);
        });
    };
    try {
        Json made = database.write([&](store::Transaction& tx) {
            Context context = context_of(passage, &tx);
            context.admission = admitted;
            context.decision = decided;
            Json output = definition.handler(context, passage.input);
            append_audit(passage, tx, decided, record, {});
            return output;
        });
        fail_point("envelope.committed");
        return made;
    } catch (const std::exception& error) {
        abandon(error);
        throw;
    } catch (...) {
        abandon(std::runtime_error("not a std::exception"));
        throw;
    }
}

}  // namespace compute::method
