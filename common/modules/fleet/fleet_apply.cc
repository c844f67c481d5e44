// fleet.apply, the composite. Two phases: each call is decided, as the caller and with no
// transaction open; then the plan is made again and everything runs in one transaction, if it is
// still the same plan.
#include "core/fail_point.h"
#include "modules/fleet/fleet.h"
#include "modules/fleet/fleet_input.h"

namespace compute::fleet {
namespace {

struct ApplyInput : FleetInput {
    std::optional<std::string> expected_plan_hash;
};

[[noreturn]] void drifted(
    const std::string& message, const std::string& expected, const Plan& plan
) {
    throw ComputeError(
        ErrorCode::ConfigDrift,
        message,
        {.details = std::make_shared<const Json>(Json{
             {"expectedPlanHash", expected}, {"planHash", plan.hash}}),
         .log_detail = {},
         .hint = "plan again and look at what differs"}
    );
}

void check_not_blocked(const Plan& plan) {
    if (plan.blocked.empty()) {
        return;
    }
    const Blocked& first = plan.blocked.front();
    throw ComputeError(
        ErrorCode::InvalidState,
        "document: " + std::to_string(plan.blocked.size()) + " of its changes cannot be made; " +
            first.path + " " + first.name + ": " + first.reason,
        Json{{"blocked", plan.json().at("blocked")}, {"planHash", plan.hash}}
    );
}

Json counts_of(const Plan& plan) {
    std::map<Verb, int> counts;
    for (const Call& call : plan.calls) {
        ++counts[call.verb];
    }
    return {
        {"created", counts[Verb::Create]},
        {"updated", counts[Verb::Update]},
        {"deleted", counts[Verb::Delete]}};
}

// Everything that changes is in this transaction: the calls with their audit rows and events, the
// marks, and the event of the whole. A process that dies before its commit leaves nothing, one that
// dies after it has lost only the answer and the composite's own audit row; applying again then
// finds nothing to do.
void run_calls(
    const method::Context& context,
    const ApplyInput& input,
    const Plan& first,
    store::Transaction& tx
) {
    const Plan second = make_plan(tx, plan_request(context, input));
    if (second.hash != first.hash) {
        drifted("the fleet changed while the document was applied", first.hash, second);
    }
    const TenantId& tenant = input.document.tenant_id;
    for (const Call& call : second.calls) {
        (void)context.invoke(tx, call.path, call.input);
        fail_point("fleet.apply.invoked");
        if (call.verb == Verb::Create) {
            add_mark(tx, tenant, call.mark, second.hash, context.now());
        } else if (call.verb == Verb::Delete) {
            remove_mark(tx, tenant, call.mark);
        }
    }
    Json data{{"tenantId", tenant.str()}, {"planHash", second.hash}, {"counts", counts_of(second)}};
    context.publish(
        tx,
        {.type = "fleet.applied",
         .tenant_id = tenant,
         .subject = "fleet/global",
         .data = std::make_shared<const Json>(std::move(data))}
    );
    fail_point("fleet.apply.before-commit");
}

Json handle(method::Context& context, ApplyInput& input) {
    const Plan first = context.runtime->database.read([&](store::Transaction& tx) {
        return make_plan(tx, plan_request(context, input));
    });
    if (input.expected_plan_hash && *input.expected_plan_hash != first.hash) {
        drifted(
            "expectedPlanHash: is not the hash of the plan as of now",
            *input.expected_plan_hash,
            first
        );
    }
    check_not_blocked(first);
    fail_point("fleet.apply.planned");
    if (!first.calls.empty()) {
        for (const Call& call : first.calls) {
            context.check(call.path, call.input);
            fail_point("fleet.apply.checked");
        }
        context.sql().transaction([&](store::Transaction& tx) {
            run_calls(context, input, first, tx);
        });
        fail_point("fleet.apply.committed");
    }
    return {{"plan", first.json()}, {"applied", first.calls.size()}};
}

}  // namespace

method::MethodEntry fleet_apply() {
    schema::Manifest<ApplyInput> manifest = fleet_manifest<ApplyInput>();
    manifest.optional(
        "expectedPlanHash",
        &ApplyInput::expected_plan_hash,
        schema::string({.pattern = "^[0-9a-f]{64}$", .max_length = 64}),
        "planHash of the plan that was looked at; CONFIG_DRIFT when it is another now"
    );
    method::Method<ApplyInput> method;
    method.action = "compute:fleet:admin";
    method.kind = method::Kind::Mutation;
    method.transaction = method::TransactionMode::Manual;
    method.resource = [](const ApplyInput&) { return method::Resource::fleet(); };
    method.input(manifest);
    method.handler = handle;
    return {
        "fleet",
        "apply",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:fleet:admin",
            .resource_type = iam::kFleetType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::fleet
