// What the quotas methods take and answer, in one place.
#pragma once

#include <optional>
#include <string>

#include "method/context.h"
#include "modules/capacity/quota.h"
#include "schema/manifest.h"

namespace compute::capacity {

// Names one scope.
struct QuotaInput {
    TenantId tenant_id;
    std::optional<ProjectId> project_id;
    std::optional<PoolId> pool_id;
    std::optional<std::string> gpu_model;

    [[nodiscard]] QuotaScope scope() const;
};

// Throws INVALID_INPUT when both a pool and a model are named.
void check_one_narrowing(const QuotaInput& input);

template <class Input>
[[nodiscard]] schema::Manifest<Input> quota_manifest() {
    schema::Manifest<Input> manifest;
    manifest.template required<TenantId>("tenantId", &Input::tenant_id, schema::tenant_id());
    manifest.template optional<ProjectId>(
        "projectId", &Input::project_id, project_id_shape(), "absent: the tenant's own"
    );
    manifest.template optional<PoolId>(
        "poolId", &Input::pool_id, schema::id_of(kPoolPrefix), "counts what is in this pool"
    );
    manifest.template optional<std::string>(
        "gpuModel", &Input::gpu_model, gpu_model_shape(), "counts GPUs of this model"
    );
    manifest.rule([](const Input& input) { check_one_narrowing(input); });
    return manifest;
}

// NOT_FOUND unless the project is the tenant's and the pool one it owns or shares; INVALID_STATE
// for an archived project.
void check_scope_exists(store::Transaction& tx, const QuotaInput& input);

// {tenantId, scope, projectId?, poolId?, gpuModel?}
[[nodiscard]] Json scope_json(const QuotaScope& scope);
// The quota with what is in use.
[[nodiscard]] Json quota_json(store::Transaction& tx, const Quota& quota, EpochMs now);

}  // namespace compute::capacity
