#include "modules/capacity/project.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::capacity {
namespace {

constexpr store::Sql kSelect(
    "select id, tenant_id, name, description, labels, version, created_by, created_at, updated_at, "
    "archived_at, request_hash "
    "from projects where tenant_id = $1 and id = $2"
);
constexpr store::Sql kSelectByName(
    "select id from projects where tenant_id = $1 and name = $2 and archived_at is null"
);
constexpr store::Sql kSelectPage(
    "select id, tenant_id, name, description, labels, version, created_by, created_at, updated_at, "
    "archived_at, request_hash "
    "from projects where tenant_id = $1 and (case when archived_at is null then 0 else 1 end) = "
    "cast($2 as bigint) "
    "and (cast($3 as text) is null or name = $3) "
    "and (cast($4 as text) is null or name > $4 or (name = $4 and id > $5)) "
    "order by name, id limit $6"
);
constexpr store::Sql kInsert(
    "insert into projects (id, tenant_id, name, description, labels, version, created_by, "
    "created_at, updated_at, request_hash) "
    "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing"
);
constexpr store::Sql kUpdate(
    "update projects set description = $4, labels = $5, updated_at = $6, archived_at = $7, version "
    "= version + 1 "
    "where tenant_id = $1 and id = $2 and version = $3 and archived_at is null"
);

Project read_project(const store::Row& row) {
    return {
        .id = ProjectId(row.get_text(0)),
        .tenant_id = TenantId(row.get_text(1)),
        .name = row.get_text(2),
        .description = row.find_text(3),
        .labels = Json::parse(row.get_text(4)).get<std::map<std::string, std::string>>(),
        .version = row.get_int(5),
        .created_by = row.get_text(6),
        .created_at = row.get_int(7),
        .updated_at = row.get_int(8),
        .archived_at = row.find_int(9),
        .request_hash = row.get_text(10)};
}

}  // namespace

schema::Shape project_id_shape() {
    return schema::id_of(kProjectPrefix);
}

schema::Manifest<ProjectInput> project_manifest() {
    schema::Manifest<ProjectInput> manifest;
    manifest.required("tenantId", &ProjectInput::tenant_id, schema::tenant_id())
        .required("projectId", &ProjectInput::project_id, project_id_shape());
    return manifest;
}

Json project_json(const Project& project) {
    Json json{
        {"id", project.id.str()},
        {"tenantId", project.tenant_id.str()},
        {"name", project.name},
        {"state", project.archived_at ? "archived" : "active"},
        {"labels", project.labels},
        {"version", project.version},
        {"createdBy", project.created_by},
        {"createdAt", project.created_at},
        {"updatedAt", project.updated_at}};
    if (project.description) {
        json["description"] = *project.description;
    }
    if (project.archived_at) {
        json["archivedAt"] = *project.archived_at;
    }
    return json;
}

std::optional<Project> find_project(
    store::Transaction& tx, const TenantId& tenant, const ProjectId& id
) {
    const auto row = tx.find_row(kSelect, {tenant, id});
    return row ? std::optional(read_project(*row)) : std::nullopt;
}

Project get_project(store::Transaction& tx, const TenantId& tenant, const ProjectId& id) {
    if (auto project = find_project(tx, tenant, id)) {
        return *std::move(project);
    }
    throw not_found("projectId: there is no such project");
}

std::optional<ProjectId> find_project_by_name(
    store::Transaction& tx, const TenantId& tenant, const std::string& name
) {
    const auto row = tx.find_row(kSelectByName, {tenant, name});
    return row ? std::optional(ProjectId(row->get_text(0))) : std::nullopt;
}

std::vector<Project> list_projects(
    store::Transaction& tx, const TenantId& tenant, const ProjectFilter& filter
) {
    std::vector<Project> projects;
    for (const store::Row& row : tx.query(
             kSelectPage,
             {tenant,
              filter.is_archived ? 1 : 0,
              filter.name,
              filter.after_name,
              filter.after_id,
              filter.limit}
         )) {
        projects.push_back(read_project(row));
    }
    return projects;
}

bool insert_project(store::Transaction& tx, const Project& project) {
    const store::Params params{
        project.id,
        project.tenant_id,
        project.name,
        project.description,
        dump_json(project.labels),
        project.version,
        project.created_by,
        project.created_at,
        project.updated_at,
        project.request_hash};
    return tx.execute(kInsert, params) == 1;
}

bool update_project(store::Transaction& tx, const Project& project) {
    const store::Params params{
        project.tenant_id,
        project.id,
        project.version,
        project.description,
        dump_json(project.labels),
        project.updated_at,
        project.archived_at};
    return tx.execute(kUpdate, params) == 1;
}

void project_project(
    const method::Context& context, store::Transaction& tx, const Project& project
) {
    Json labels = Json::array();
    for (const auto& [key, value] : project.labels) {
        labels.push_back(key + "=" + value);
    }
    const Json attributes{
        {"name", project.name},
        {"state", project.archived_at ? "archived" : "active"},
        {"labels", std::move(labels)}};
    context.authz_upsert(
        tx,
        {.resource = {kProjectType, project.id.str()},
         .tenant_id = project.tenant_id,
         .attributes = std::make_shared<const Json>(attributes),
         .owner_id = project.created_by,
         .pending = nullptr}
    );
}

void publish_project(
    const method::Context& context,
    store::Transaction& tx,
    const Project& project,
    const std::string& type,
    const std::vector<std::string>& changed
) {
    Json data{
        {"tenantId", project.tenant_id.str()},
        {"name", project.name},
        {"state", project.archived_at ? "archived" : "active"}};
    if (!changed.empty()) {
        data["changed"] = changed;
    }
    context.publish(
        tx,
        {.type = type,
         .tenant_id = project.tenant_id,
         .subject = "project/" + project.id.str(),
         .data = std::make_shared<const Json>(std::move(data))}
    );
}

}  // namespace compute::capacity
