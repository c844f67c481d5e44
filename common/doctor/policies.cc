#include "doctor/policies.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "iam/local/glob.h"
#include "iam/local/policy.h"

namespace compute::doctor {

namespace {

using method::Finding;
using method::Severity;

constexpr const char* kId = "iam.policies";
constexpr std::size_t kMaxFindings = 50;

constexpr store::Sql kDocuments =
    "select 'policy ' || tenant_id || '/' || name, document from iam_policies"
    " union all select 'the boundary of tenant ' || tenant_id, document from iam_boundaries"
    " union all select 'the scope of token ' || id, scope from iam_tokens where scope is not null "
    "and revoked_at is null"
    " order by 1";

std::set<std::string> known_actions(const std::vector<method::Module>& modules) {
    std::set<std::string> actions;
    const auto add_row = [&](const method::MethodRow& row) {
        actions.insert(row.action);
        for (const auto& alternative : row.alternatives) {
            actions.insert(alternative.action);
        }
    };
    for (const method::Module& module : modules) {
        for (const method::MethodEntry& entry : module.methods) {
            if (entry.definition.action) {
                actions.insert(*entry.definition.action);
            }
            if (entry.row) {
                add_row(*entry.row);
            }
        }
        for (const method::PlannedMethod& planned : module.planned) {
            add_row(planned.row);
        }
    }
    return actions;
}

bool matches_any(const iam::local::Statement& statement, const std::set<std::string>& actions) {
    return std::any_of(
        statement.actions.begin(),
        statement.actions.end(),
        [&](const std::string& glob) {
            return std::any_of(actions.begin(), actions.end(), [&](const std::string& action) {
                return iam::local::glob_matches(glob, action);
            });
        }
    );
}

void check_document(
    const std::string& name,
    const std::string& text,
    const std::set<std::string>& actions,
    std::vector<Finding>& findings
) {
    std::shared_ptr<const iam::local::Policy> policy;
    try {
        policy = iam::local::Policy::compile(parse_json(text), "document");
    } catch (const ComputeError& error) {
        // One broken document among many is a finding about it, not the end of the check.
        findings.push_back(
            {kId,
             Severity::Error,
             name + " does not load and denies everything: " + error.message(),
             "mend it and run better-compute iam apply FILE",
             {},
             {}}
        );
        return;
    }
    for (std::size_t i = 0; i < policy->statements().size(); ++i) {
        const auto& statement = policy->statements()[i];
        if (statement.effect == iam::local::Effect::Deny && !matches_any(statement, actions)) {
            findings.push_back(
                {kId,
                 Severity::Warning,
                 name + ": " + policy->statement_name(i) + " denies actions that do not exist",
                 "compare its actions with better-compute api --list",
                 {},
                 {}}
            );
        }
    }
}

}  // namespace

std::vector<Finding> check_policies(
    method::CheckContext& context, const std::vector<method::Module>& modules
) {
    std::vector<Finding> findings;
    if (context.config.iam.mode != "local") {
        return findings;
    }
    const auto actions = known_actions(modules);
    for (const store::Row& row : context.database.query(kDocuments)) {
        if (findings.size() >= kMaxFindings) {
            break;
        }
        check_document(row.get_text(0), row.get_text(1), actions, findings);
    }
    return findings;
}

}  // namespace compute::doctor
