// What a tenant has: the rows that a document is compared with. They are the capacity module's;
// this module reads them and changes them only through the methods.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"
#include "modules/fleet/document.h"
#include "store/database.h"

namespace compute::fleet {

struct Row {
    std::string id;
    std::int64_t version = 0;
    Json fields = Json::object();  // without defaults
    bool is_ours = false;          // created by an apply
};

struct QuotaRow {
    std::string project_id;
    std::string pool_id;
    std::int64_t version = 0;
    bool is_ours = false;
    QuotaItem item;  // limits is empty when the row limits nothing
};

struct Snapshot {
    std::map<std::string, Row> pools;  // alive and the tenant's own, by name
    std::map<std::string, Row> projects;
    std::vector<QuotaRow> quotas;                     // those whose project and pool can be named
    std::map<std::string, std::string> shared_pools;  // `tenant/name` to id
    // How many pools or projects, whatever became of them, ever had a name.
    std::map<std::string, std::int64_t> pools_ever;
    std::map<std::string, std::int64_t> projects_ever;

    [[nodiscard]] const QuotaRow* find_quota(const std::string& name) const;
};

[[nodiscard]] Snapshot read_snapshot(store::Transaction& tx, const TenantId& tenant);
// The same as a document.
[[nodiscard]] Document document_of(const Snapshot& snapshot, const TenantId& tenant);

// Why a thing cannot be changed or taken away now; each costs a statement.
[[nodiscard]] std::optional<std::string> find_reason_to_keep_pool(
    store::Transaction& tx, const TenantId& tenant, const std::string& pool_id
);
[[nodiscard]] std::optional<std::string> find_reason_to_keep_project(
    store::Transaction& tx, const TenantId& tenant, const std::string& project_id
);
// Names of nodes that joined the pool, sorted.
[[nodiscard]] std::vector<std::string> joined_nodes(
    store::Transaction& tx, const TenantId& tenant, const std::string& pool_id
);
// Names of declared nodes that never joined, by pool.
[[nodiscard]] std::map<std::string, std::vector<std::string>> expected_nodes(
    store::Transaction& tx, const TenantId& tenant
);

// What an apply created is marked; the mark goes with the thing.
struct Mark {
    const char* kind = nullptr;  // pool | project | quota
    std::string key;
};
void add_mark(
    store::Transaction& tx,
    const TenantId& tenant,
    const Mark& mark,
    const std::string& plan_hash,
    EpochMs now
);
void remove_mark(store::Transaction& tx, const TenantId& tenant, const Mark& mark);
[[nodiscard]] std::string quota_key(
    const std::string& project_id, const std::string& pool_id, const std::string& gpu_model
);

}  // namespace compute::fleet
