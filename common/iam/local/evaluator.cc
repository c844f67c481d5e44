#include "iam/local/evaluator.h"

#include <optional>

namespace compute::iam::local {
namespace {

// The first statement of `effect` that applies, by name.
std::optional<std::string> find_statement(
    const std::vector<Source>& sources, Effect effect, const Request& request
) {
    for (const Source& source : sources) {
        if (const auto index = source.policy->find(effect, request)) {
            return source.name + ", " + source.policy->statement_name(*index);
        }
    }
    return std::nullopt;
}

void trace_into(
    std::vector<Step>& steps,
    const std::vector<Source>& sources,
    const char* role,
    const Request& request
) {
    for (const Source& source : sources) {
        const auto& statements = source.policy->statements();
        for (std::size_t i = 0; i < statements.size(); ++i) {
            const auto mismatch = find_mismatch(statements[i], request);
            steps.push_back(
                {source.name,
                 role,
                 source.policy->statement_name(i),
                 statements[i].effect,
                 !mismatch,
                 mismatch ? describe(*mismatch, statements[i]) : std::string()}
            );
        }
    }
}

}  // namespace

Decision evaluate(const Documents& documents, const Request& request) {
    for (const auto* sources : {&documents.grants, &documents.boundaries, &documents.only_denies}) {
        if (const auto denying = find_statement(*sources, Effect::Deny, request)) {
            return {false, "denied by " + *denying};
        }
    }
    for (const Source& boundary : documents.boundaries) {
        if (!boundary.policy->find(Effect::Allow, request)) {
            return {false, "outside " + boundary.name};
        }
    }
    if (const auto allowing = find_statement(documents.grants, Effect::Allow, request)) {
        return {true, "allowed by " + *allowing};
    }
    return {false, "no statement allows it"};
}

std::vector<Step> trace(const Documents& documents, const Request& request) {
    std::vector<Step> steps;
    trace_into(steps, documents.grants, "grant", request);
    trace_into(steps, documents.boundaries, "boundary", request);
    trace_into(steps, documents.only_denies, "denies", request);
    return steps;
}

}  // namespace compute::iam::local
