#include "modules/events/operator/methods.h"

#include <nlohmann/json.hpp>

#include "modules/events/methods/methods.h"
#include "modules/events/operator/redeliver.h"
#include "modules/events/patterns.h"

namespace compute::events {
namespace {

struct JobInput {
    std::optional<std::string> tenant_id;
    std::optional<std::string> webhook_id;
    std::vector<std::string> states;
    std::optional<std::string> type;
    std::optional<std::int64_t> since;
    std::optional<std::int64_t> until;
    std::optional<std::int64_t> limit;
};

struct JobIdInput {
    std::string job_id;
};

RedeliverFilter filter_of(const JobInput& input) {
    RedeliverFilter filter;
    if (input.tenant_id) {
        filter.tenant_id = TenantId(*input.tenant_id);
    }
    filter.webhook_id = input.webhook_id;
    filter.states.clear();
    for (const std::string& name : input.states) {
        filter.states.push_back(find_state(name).value_or(DeliveryState::Dead));
    }
    filter.type_pattern = input.type;
    filter.since = input.since;
    filter.until = input.until;
    filter.limit = input.limit;
    return filter;
}

template <class I>
method::MethodEntry job_method(
    std::string name,
    const schema::Manifest<I>& manifest,
    std::function<Json(method::Context&, I&)> handler
) {
    method::Method<I> method;
    method.action = kManageAction;
    method.kind = method::Kind::Mutation;
    method.resource = [](const I&) { return method::Resource::fleet(); };
    method.input(manifest);
    method.handler = std::move(handler);
    method::MethodRow row;
    row.action = kManageAction;
    row.resource_type = iam::kFleetType;
    return {
        "redeliveryJobs",
        std::move(name),
        method::define_method(std::move(method)),
        std::move(row)};
}

method::MethodEntry create_entry() {
    const schema::Shape state = schema::one_of({"dead", "cancelled", "delivered"});
    schema::Manifest<JobInput> manifest;
    manifest.optional("tenantId", &JobInput::tenant_id, schema::tenant_id())
        .optional("webhookId", &JobInput::webhook_id, schema::id_of("whk_"))
        .required("states", &JobInput::states, schema::array(state, {.min_items = 1}))
        .optional(
            "type",
            &JobInput::type,
            schema::string(
                {.pattern = kPatternRegex, .min_length = 1, .max_length = kMaxPatternCharacters}
            )
        )
        .optional("since", &JobInput::since, schema::integer())
        .optional("until", &JobInput::until, schema::integer())
        .optional("limit", &JobInput::limit, schema::integer({.min = 1}));
    return job_method<JobInput>("create", manifest, [](method::Context& context, JobInput& input) {
        // Dies the process after the commit, the job is there, listed as running, and can be
        // resumed or cancelled.
        return job_json(
            create_job(context.transaction(), *context.runtime, *context.caller, filter_of(input))
        );
    });
}

schema::Manifest<JobIdInput> id_manifest() {
    schema::Manifest<JobIdInput> manifest;
    manifest.required("jobId", &JobIdInput::job_id, schema::id_of("rdj_"));
    return manifest;
}

}  // namespace

method::Module operator_module() {
    method::Module module;
    module.id = "redelivery";
    module.methods.push_back(create_entry());
    module.methods.push_back(job_method<JobIdInput>(
        "resume",
        id_manifest(),
        [](method::Context& context, JobIdInput& input) {
            return job_json(get_job_to_resume(context.transaction(), input.job_id));
        }
    ));
    module.methods.push_back(job_method<JobIdInput>(
        "cancel",
        id_manifest(),
        [](method::Context& context, JobIdInput& input) {
            const RedeliverJob job =
                cancel_job(context.transaction(), *context.runtime, input.job_id);
            if (job.state == JobState::Done) {
                throw ComputeError(ErrorCode::InvalidState, "job: is done already");
            }
            return job_json(job);
        }
    ));
    return module;
}

}  // namespace compute::events
