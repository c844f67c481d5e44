// projects.get and projects.list.
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/page.h"
#include "modules/capacity/project.h"

namespace compute::capacity {
namespace {

struct ListInput {
    TenantId tenant_id;
    std::optional<std::string> name;
    std::string state = "active";
    std::int64_t limit = kDefaultLimit;
    std::optional<std::string> cursor;
};

schema::Manifest<ListInput> list_manifest() {
    schema::Manifest<ListInput> manifest;
    manifest.required("tenantId", &ListInput::tenant_id, schema::tenant_id())
        .optional("name", &ListInput::name, schema::name())
        .defaulted(
            "state", &ListInput::state, schema::one_of({"active", "archived"}), "default active"
        )
        .defaulted("limit", &ListInput::limit, limit_shape(), "default 50")
        .optional("cursor", &ListInput::cursor, cursor_shape(), "nextCursor of the page before")
        .rule([](const ListInput& input) {
            if (input.cursor) {
                (void)decode_cursor(*input.cursor, 2);
            }
        });
    return manifest;
}

Json list(method::Context& context, ListInput& input) {
    ProjectFilter filter{
        .is_archived = input.state == "archived",
        .name = input.name,
        .after_name = {},
        .after_id = {}};
    filter.limit = input.limit + 1;  // one more tells whether there is a next page
    if (input.cursor) {
        const auto key = decode_cursor(*input.cursor, 2);
        filter.after_name = key[0];
        filter.after_id = key[1];
    }
    std::vector<Project> projects = list_projects(context.transaction(), input.tenant_id, filter);
    Json answer{{"items", Json::array()}};
    if (std::cmp_greater(projects.size(), input.limit)) {
        projects.pop_back();
        answer["nextCursor"] = encode_cursor({projects.back().name, projects.back().id.str()});
    }
    for (const Project& project : projects) {
        answer["items"].push_back(project_json(project));
    }
    return answer;
}

}  // namespace

method::MethodEntry projects_get() {
    method::Method<ProjectInput> get;
    get.action = "compute:projects:read";
    get.kind = method::Kind::Read;
    get.resource = [](const ProjectInput& input) {
        return method::Resource{kProjectType, input.project_id.str(), std::nullopt};
    };
    get.input(project_manifest());
    get.handler = [](method::Context& context, ProjectInput& input) {
        return project_json(get_project(context.transaction(), input.tenant_id, input.project_id));
    };
    return {
        "projects",
        "get",
        method::define_method(std::move(get)),
        method::MethodRow{
            .action = "compute:projects:read",
            .resource_type = kProjectType,
            .alternatives = {},
            .phase = 2}};
}

method::MethodEntry projects_list() {
    method::Method<ListInput> method;
    method.action = "compute:projects:list";
    method.kind = method::Kind::Read;
    method.resource = [](const ListInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    method.input(list_manifest());
    method.handler = list;
    return {
        "projects",
        "list",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:projects:list",
            .resource_type = "tenant",
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
