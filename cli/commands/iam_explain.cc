#include "cli/commands/iam_explain.h"

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "config/deployment_secret.h"
#include "crypto/crypto.h"
#include "iam/local/local_iam.h"

namespace compute::cli::commands {

namespace {

namespace local = iam::local;

struct ExplainFlags {
    std::string token_file;
    std::string tenant;
    std::string action;
    std::string resource;
};

iam::Question question_of(const ExplainFlags& flags, const iam::Caller& caller) {
    const std::size_t slash = flags.resource.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == flags.resource.size()) {
        throw UsageError(
            "RESOURCE: must be TYPE/ID, for example compute-pool/pool_01k5y3v0m6y8x7w5t4s3r2p1n0"
        );
    }
    iam::Question question;
    question.tenant_id = flags.tenant.empty() ? caller.tenant_id : TenantId(flags.tenant);
    question.action = flags.action;
    question.resource = {flags.resource.substr(0, slash), flags.resource.substr(slash + 1)};
    return question;
}

// A held action runs only after a person confirmed it.
bool may_run(const local::Explanation& explanation) {
    return explanation.verdict.decision.is_allowed && !explanation.verdict.is_held;
}

Json to_json(const local::Explanation& explanation) {
    Json steps = Json::array();
    for (const local::Step& step : explanation.steps) {
        steps.push_back(
            {{"source", step.source},
             {"role", step.role},
             {"statement", step.statement},
             {"effect", step.effect == local::Effect::Allow ? "allow" : "deny"},
             {"applies", step.applies},
             {"whyNot", step.why_not}}
        );
    }
    return {
        {"allowed", may_run(explanation)},
        {"held", explanation.verdict.is_held},
        {"reason", explanation.verdict.decision.reason},
        {"identityId", explanation.caller.identity_id.str()},
        {"tenantId", explanation.caller.tenant_id.str()},
        {"steps", steps}};
}

void print(const local::Explanation& explanation, Console& console) {
    const auto& decision = explanation.verdict.decision;
    const std::string verdict =
        may_run(explanation)
            ? console.styled(Style::Green, "allowed")
            : console.styled(
                  Style::Red, explanation.verdict.is_held ? "held for a confirmation" : "refused"
              );
    console.line(verdict + ": " + printable(decision.reason));
    std::vector<std::vector<std::string>> rows;
    for (const local::Step& step : explanation.steps) {
        rows.push_back(
            {step.source,
             step.role,
             step.statement,
             step.effect == local::Effect::Allow ? "allow" : "deny",
             step.applies ? "applies" : printable(step.why_not)}
        );
    }
    console.table({"SOURCE", "ROLE", "STATEMENT", "EFFECT", "VERDICT"}, rows);
}

// Changes nothing and is no decision: it asks the evaluator itself, whose answer no call would see.
int explain(const CommonOptions& common, const ExplainFlags& flags, Console& console) {
    common.apply(console);
    const auto token = config::find_secret_in_file(flags.token_file);
    if (!token) {
        throw invalid_input("--token-file: there is no file " + flags.token_file);
    }
    Plane plane(common.load());
    if (plane.config().iam.mode != "local") {
        throw ComputeError(
            ErrorCode::Unsupported, "iam explain: this deployment uses a remote IAM"
        );
    }
    const method::Runtime& runtime = plane.compute().runtime();
    local::LocalIam iam(
        runtime.database,
        runtime.clock,
        runtime.rng,
        {plane.config().iam.root_tenant, plane.config().iam.resource_prefix}
    );
    const local::Explanation explanation =
        iam.explain(*token, question_of(flags, iam.authenticate(*token)));
    if (common.is_json) {
        console.json(to_json(explanation));
    } else {
        print(explanation, console);
    }
    return may_run(explanation) ? kExitOk : kExitRefused;
}

}  // namespace

void define_iam_explain(const Definition& iam) {
    const Definition command = iam.sub(
        "explain",
        "Says whether a token may do something, or why not",
        "better-compute iam explain --token-file ops.token compute:pools:create compute-tenant/acme"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<ExplainFlags>();
    command.app()
        .add_option(
            "--token-file", flags->token_file, "File with the token, readable by its owner only"
        )
        ->required()
        ->type_name("FILE");
    command.app()
        .add_option("--tenant", flags->tenant, "The tenant it is decided in; else the token's own")
        ->type_name("ID");
    command.app()
        .add_option("ACTION", flags->action, "For example compute:pools:create")
        ->required();
    command.app()
        .add_option("RESOURCE", flags->resource, "TYPE/ID, the type with its prefix")
        ->required();
    command.run([common, flags](Console& console) { return explain(*common, *flags, console); });
}

}  // namespace compute::cli::commands
