#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"
#include "modules/capacity/project.h"

namespace compute::capacity {
namespace {

struct CreateInput {
    TenantId tenant_id;
    std::string name;
    std::string idempotency_key;
    std::optional<std::string> description;
    std::map<std::string, std::string> labels;
};

schema::Manifest<CreateInput> create_manifest() {
    schema::Manifest<CreateInput> manifest;
    manifest.required("tenantId", &CreateInput::tenant_id, schema::tenant_id())
        .required("name", &CreateInput::name, schema::name())
        .required(
            "idempotencyKey",
            &CreateInput::idempotency_key,
            schema::idempotency_key(),
            "repeating the call with it answers the same project"
        )
        .optional("description", &CreateInput::description, description_shape())
        .defaulted("labels", &CreateInput::labels, schema::labels());
    return manifest;
}

ProjectId id_of(const method::Context& context, const CreateInput& input) {
    return ProjectId(method::draft_id(
        kProjectPrefix, input.tenant_id, context.caller->identity_id, input.idempotency_key
    ));
}

method::Prepared prepare(method::Context& context, CreateInput& input, store::Transaction& tx) {
    const auto project = find_project(tx, input.tenant_id, id_of(context, input));
    if (!project) {
        return method::Prepared::decide(method::Resource::tenant(input.tenant_id.str()));
    }
    if (project->request_hash != context.request_hash) {
        throw ComputeError(
            ErrorCode::Conflict,
            "idempotencyKey: was used for another request",
            Json{{"reason", "idempotency-key-reused"}, {"projectId", project->id.str()}}
        );
    }
    return method::Prepared::replay(project_json(*project));
}

// Row, projection, audit row and event commit together; a lost answer is given again by the same
// call.
Json handle(method::Context& context, CreateInput& input) {
    store::Transaction& tx = context.transaction();
    const EpochMs now = context.now();
    const Project project{
        .id = id_of(context, input),
        .tenant_id = input.tenant_id,
        .name = input.name,
        .description = input.description,
        .labels = input.labels,
        .version = 1,
        .created_by = context.caller->identity_id.str(),
        .created_at = now,
        .updated_at = now,
        .archived_at = std::nullopt,
        .request_hash = context.request_hash};
    if (!insert_project(tx, project)) {
        if (const auto taken = find_project_by_name(tx, input.tenant_id, input.name);
            taken && *taken != project.id) {
            throw ComputeError(
                ErrorCode::Conflict,
                "name: is taken by another project",
                Json{{"reason", "name-taken"}, {"projectId", taken->str()}}
            );
        }
        // The same call committed since prepare looked; repeating this one answers its project.
        throw ComputeError(
            ErrorCode::Conflict,
            "the same call has just been made",
            Json{{"reason", "concurrent-change"}}
        );
    }
    project_project(context, tx, project);
    publish_project(context, tx, project, "project.created");
    return project_json(project);
}

}  // namespace

method::MethodEntry projects_create() {
    method::Method<CreateInput> create;
    create.action = "compute:projects:create";
    create.kind = method::Kind::Mutation;
    create.resource = [](const CreateInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    create.input(create_manifest());
    create.handler = handle;
    create.admission.emplace();
    create.admission->prepares = method::Prepares::Lookup;
    create.admission->prepare = prepare;
    return {
        "projects",
        "create",
        method::define_method(std::move(create)),
        method::MethodRow{
            .action = "compute:projects:create",
            .resource_type = "tenant",
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
