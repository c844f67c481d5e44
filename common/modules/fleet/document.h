// A fleet document: what a tenant's pools, projects and quotas are to be, by name. It states each
// thing whole, so a member that is left out has its default.
//
//   {version: 1, tenantId, pools: [{name, ..., nodeGroups}], projects: [{name, description?,
//   labels?}],
//    quotas: [{project?, pool?, gpuModel?, limits}], volumes: [], sandboxTemplates: []}
//
// A quota's `pool` names one of the tenant's own; another tenant's that is shared is `tenant/name`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "capacity/pool_settings.h"
#include "capacity/quota_limits.h"
#include "core/error.h"
#include "core/ids.h"
#include "schema/manifest.h"

namespace compute::fleet {

// A named thing with its fields as the methods take them, defaults left out. Two are alike exactly
// when their fields are equal.
struct Item {
    std::string name;
    Json fields = Json::object();
};

struct QuotaItem {
    std::string project;  // "": the tenant's own
    std::string pool;
    std::string gpu_model;
    Json limits = Json::object();

    // What people call it: "tenant", "project vision", "tenant in pool h100", "tenant on H100".
    [[nodiscard]] std::string name() const;
};

struct Document {
    TenantId tenant_id;
    std::vector<Item> pools;
    std::vector<Item> projects;
    std::vector<QuotaItem> quotas;

    // From a value that has the shape. INVALID_INPUT naming what breaks a rule beyond it,
    // UNSUPPORTED for what a document may hold but no method serves. Expands node names, so it runs
    // before a transaction is open.
    [[nodiscard]] static Document decode(const Json& value);
    [[nodiscard]] Json json() const;  // defaults left out, lists sorted by name
};

inline constexpr std::size_t kMaxDocumentBytes = 65'536;
inline constexpr std::size_t kMaxDocumentNodes = 65'536;

[[nodiscard]] schema::Shape document_shape();

// The fields of a pool without those that have their default.
[[nodiscard]] Json pool_fields(const capacity::PoolSettings& settings);
// Of a project.
[[nodiscard]] Json project_fields(
    const std::optional<std::string>& description, const std::map<std::string, std::string>& labels
);
// Every field a pool or a project can have, with its default; null stands for absent.
[[nodiscard]] const Json& pool_defaults();
[[nodiscard]] const Json& project_defaults();

}  // namespace compute::fleet
