// projects.update and projects.archive.
#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"
#include "modules/capacity/project.h"
#include "modules/capacity/reservation_rows.h"

namespace compute::capacity {
namespace {

struct UpdateInput {
    TenantId tenant_id;
    ProjectId project_id;
    std::optional<std::int64_t> version;
    std::optional<std::optional<std::string>> description;
    std::optional<std::map<std::string, std::string>> labels;
};

schema::Manifest<UpdateInput> update_manifest() {
    schema::Manifest<UpdateInput> manifest;
    manifest.required("tenantId", &UpdateInput::tenant_id, schema::tenant_id())
        .required("projectId", &UpdateInput::project_id, project_id_shape())
        .optional(
            "version", &UpdateInput::version, version_shape(), "the version the change is meant for"
        )
        .nullable("description", &UpdateInput::description, description_shape())
        .optional("labels", &UpdateInput::labels, schema::labels());
    return manifest;
}

// The version that was read guards the write, so that of two changes at once one is refused.
void save(
    const method::Context& context,
    store::Transaction& tx,
    Project& project,
    const std::string& type,
    const std::vector<std::string>& changed
) {
    project.updated_at = context.now();
    if (!update_project(tx, project)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the project has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    ++project.version;
    project_project(context, tx, project);
    publish_project(context, tx, project, type, changed);
}

Json update(method::Context& context, UpdateInput& input) {
    store::Transaction& tx = context.transaction();
    Project project = get_project(tx, input.tenant_id, input.project_id);
    if (project.archived_at) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "projectId: the project is archived",
            Json{{"state", "archived"}}
        );
    }
    if (input.version && *input.version != project.version) {
        throw ComputeError(
            ErrorCode::Conflict,
            "version: the project has changed meanwhile",
            Json{{"reason", "version"}, {"version", project.version}}
        );
    }
    std::vector<std::string> changed;
    if (input.description && *input.description != project.description) {
        changed.emplace_back("description");
        project.description = *input.description;
    }
    if (input.labels && *input.labels != project.labels) {
        changed.emplace_back("labels");
        project.labels = *input.labels;
    }
    if (!changed.empty()) {
        save(context, tx, project, "project.updated", changed);
    }
    return project_json(project);
}

Json archive(method::Context& context, ProjectInput& input) {
    store::Transaction& tx = context.transaction();
    Project project = get_project(tx, input.tenant_id, input.project_id);
    if (!project.archived_at) {
        const std::int64_t alive = count_alive_in_project(tx, project.tenant_id, project.id);
        if (alive > 0) {
            throw ComputeError(
                ErrorCode::InvalidState,
                "projectId: the project still has claims",
                Json{{"reservations", alive}}
            );
        }
        project.archived_at = context.now();
        save(context, tx, project, "project.archived", {});
    }
    return project_json(project);
}

}  // namespace

method::MethodEntry projects_update() {
    method::Method<UpdateInput> method;
    method.action = "compute:projects:update";
    method.kind = method::Kind::Mutation;
    method.resource = [](const UpdateInput& input) {
        return method::Resource{kProjectType, input.project_id.str(), std::nullopt};
    };
    method.input(update_manifest());
    method.handler = update;
    return {
        "projects",
        "update",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:projects:update",
            .resource_type = kProjectType,
            .alternatives = {},
            .phase = 2}};
}

method::MethodEntry projects_archive() {
    method::Method<ProjectInput> method;
    method.action = "compute:projects:archive";
    method.kind = method::Kind::Mutation;
    method.resource = [](const ProjectInput& input) {
        return method::Resource{kProjectType, input.project_id.str(), std::nullopt};
    };
    method.input(project_manifest());
    method.handler = archive;
    return {
        "projects",
        "archive",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:projects:archive",
            .resource_type = kProjectType,
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
