// A project: an optional scope on claims, volumes and quotas of one tenant; nothing else. Archived
// projects stay, so that what refers to them keeps its meaning; only their name is free again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/ids.h"
#include "method/context.h"
#include "schema/manifest.h"
#include "store/database.h"

namespace compute::capacity {

using ProjectId = StrongId<struct ProjectTag>;

inline constexpr const char* kProjectType = "project";
inline constexpr const char* kProjectPrefix = "prj_";

struct Project {
    ProjectId id;
    TenantId tenant_id;
    std::string name;
    std::optional<std::string> description;
    std::map<std::string, std::string> labels;
    std::int64_t version = 1;
    std::string created_by;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;
    std::optional<EpochMs> archived_at;
    std::string request_hash;  // of the create
};

// The input of the methods that name one project and nothing else.
struct ProjectInput {
    TenantId tenant_id;
    ProjectId project_id;
};
[[nodiscard]] schema::Manifest<ProjectInput> project_manifest();
[[nodiscard]] schema::Shape project_id_shape();

[[nodiscard]] Json project_json(const Project& project);

// Archived ones too.
[[nodiscard]] std::optional<Project> find_project(
    store::Transaction& tx, const TenantId& tenant, const ProjectId& id
);
// NOT_FOUND in the same words for another tenant's project and for one that was never there.
[[nodiscard]] Project get_project(
    store::Transaction& tx, const TenantId& tenant, const ProjectId& id
);
[[nodiscard]] std::optional<ProjectId> find_project_by_name(
    store::Transaction& tx, const TenantId& tenant, const std::string& name
);

struct ProjectFilter {
    bool is_archived = false;
    std::optional<std::string> name;
    std::optional<std::string> after_name;  // the page behind this (name, id)
    std::optional<std::string> after_id;
    std::int64_t limit = 50;
};
[[nodiscard]] std::vector<Project> list_projects(
    store::Transaction& tx, const TenantId& tenant, const ProjectFilter& filter
);

// False when the id or (among the tenant's active projects) the name is taken; then nothing was
// written.
[[nodiscard]] bool insert_project(store::Transaction& tx, const Project& project);
// Writes description, labels, archived_at and version + 1 if the stored version still is
// `project.version` and the project is active.
[[nodiscard]] bool update_project(store::Transaction& tx, const Project& project);

// What the authz projection keeps of a project, and the event about it.
void project_project(
    const method::Context& context, store::Transaction& tx, const Project& project
);
void publish_project(
    const method::Context& context,
    store::Transaction& tx,
    const Project& project,
    const std::string& type,
    const std::vector<std::string>& changed = {}
);

}  // namespace compute::capacity
