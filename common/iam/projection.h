// The authz projection: attributes of our rows that policies decide on, written in the transaction that changes the row.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "core/ids.h"
#include "iam/resource.h"
#include "store/database.h"

namespace compute::iam {

struct ProjectionRow {
    ResourceRef resource;  // type without prefix
    TenantId tenant_id;
    std::shared_ptr<const Json> attributes;  // an object of strings, numbers, booleans and arrays of strings
    std::optional<std::string> owner_id;
    std::shared_ptr<const Json> pending;  // attributes staged by an admission, merged over `attributes` in decisions; null when none
};

// Writes or replaces the row; `pending` too.
void upsert_projection(store::Transaction& tx, const ProjectionRow& row, std::int64_t now_ms);
// Removes it; nothing happens when it is not there.
void remove_projection(store::Transaction& tx, const ResourceRef& resource);
[[nodiscard]] std::optional<ProjectionRow> find_projection(store::Transaction& tx, const ResourceRef& resource);

}  // namespace compute::iam
