#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

// Absent fields stay as they are; lists and labels are replaced whole.
struct UpdateInput {
    TenantId tenant_id;
    PoolId pool_id;
    std::optional<std::int64_t> version;
    std::optional<std::optional<std::string>> description;
    std::optional<std::map<std::string, std::string>> labels;
    std::optional<std::string> packing;
    std::optional<std::string> sharing;
    std::optional<std::int64_t> fraction_step_milli;
    std::optional<std::int64_t> max_duration_seconds;
    std::optional<std::int64_t> cleanup_seconds;
    std::optional<std::vector<std::string>> shared_with;
    std::optional<std::int64_t> disconnected_after_seconds;
    std::optional<std::int64_t> lost_after_seconds;
    std::optional<std::string> queue;
    std::optional<std::vector<NodeGroup>> node_groups;
};

schema::Manifest<UpdateInput> update_manifest() {
    const PoolShapes shapes = pool_shapes();
    schema::Manifest<UpdateInput> manifest;
    manifest.required("tenantId", &UpdateInput::tenant_id, schema::tenant_id())
        .required("poolId", &UpdateInput::pool_id, pool_id_shape())
        .optional(
            "version", &UpdateInput::version, version_shape(), "the version the change is meant for"
        )
        .nullable("description", &UpdateInput::description, description_shape())
        .optional("labels", &UpdateInput::labels, schema::labels())
        .optional("packing", &UpdateInput::packing, shapes.packing)
        .optional("sharing", &UpdateInput::sharing, shapes.sharing)
        .optional(
            "fractionStepMilli", &UpdateInput::fraction_step_milli, shapes.fraction_step_milli
        )
        .optional(
            "maxDurationSeconds", &UpdateInput::max_duration_seconds, shapes.max_duration_seconds
        )
        .optional("cleanupSeconds", &UpdateInput::cleanup_seconds, shapes.cleanup_seconds)
        .optional("sharedWith", &UpdateInput::shared_with, shapes.shared_with)
        .optional(
            "disconnectedAfterSeconds",
            &UpdateInput::disconnected_after_seconds,
            shapes.disconnected_after_seconds
        )
        .optional("lostAfterSeconds", &UpdateInput::lost_after_seconds, shapes.lost_after_seconds)
        .optional("queue", &UpdateInput::queue, shapes.queue)
        .optional("nodeGroups", &UpdateInput::node_groups, shapes.node_groups);
    return manifest;
}

template <class T>
void set(T& member, const std::optional<T>& value) {
    if (value) {
        member = *value;
    }
}

PoolSettings merged(PoolSettings settings, const UpdateInput& input) {
    set(settings.description, input.description);
    set(settings.labels, input.labels);
    set(settings.packing, input.packing);
    set(settings.sharing, input.sharing);
    set(settings.fraction_step_milli, input.fraction_step_milli);
    set(settings.max_duration_seconds, input.max_duration_seconds);
    set(settings.cleanup_seconds, input.cleanup_seconds);
    set(settings.shared_with, input.shared_with);
    set(settings.disconnected_after_seconds, input.disconnected_after_seconds);
    set(settings.lost_after_seconds, input.lost_after_seconds);
    set(settings.queue, input.queue);
    set(settings.node_groups, input.node_groups);
    return settings;
}

std::vector<std::string> changed_fields(const PoolSettings& before, const PoolSettings& after) {
    std::vector<std::string> changed;
    const auto note = [&](const char* name, bool is_changed) {
        if (is_changed) {
            changed.emplace_back(name);
        }
    };
    note("description", before.description != after.description);
    note("labels", before.labels != after.labels);
    note("packing", before.packing != after.packing);
    note("sharing", before.sharing != after.sharing);
    note("fractionStepMilli", before.fraction_step_milli != after.fraction_step_milli);
    note("maxDurationSeconds", before.max_duration_seconds != after.max_duration_seconds);
    note("cleanupSeconds", before.cleanup_seconds != after.cleanup_seconds);
    note("sharedWith", before.shared_with != after.shared_with);
    note(
        "disconnectedAfterSeconds",
        before.disconnected_after_seconds != after.disconnected_after_seconds
    );
    note("lostAfterSeconds", before.lost_after_seconds != after.lost_after_seconds);
    note("queue", before.queue != after.queue);
    const auto is_same = [](const NodeGroup& a, const NodeGroup& b) { return a.is_same(b); };
    note(
        "nodeGroups",
        !std::equal(
            before.node_groups.begin(),
            before.node_groups.end(),
            after.node_groups.begin(),
            after.node_groups.end(),
            is_same
        )
    );
    return changed;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// A call that changes nothing answers the pool and leaves version and outbox alone, so repeating an
// update is harmless.
Json handle(method::Context& context, UpdateInput& input) {
    store::Transaction& tx = context.transaction();
    Pool pool = get_pool(tx, input.tenant_id, input.pool_id, Reach::Own);
    if (input.version && *input.version != pool.version) {
        throw ComputeError(
            ErrorCode::Conflict,
            "version: the pool has changed meanwhile",
            Json{{"reason", "version"}, {"version", pool.version}}
        );
    }
    PoolSettings after = merged(pool.settings, input);
    check_limits(after);
    const std::vector<std::string> changed = changed_fields(pool.settings, after);
    if (changed.empty()) {
        return pool_json(pool, input.tenant_id);
    }
    pool.settings = std::move(after);
    pool.updated_at = context.now();
    // The version read above guards the write: of two concurrent updates one is refused, never half
    // of each kept.
    if (!update_pool(
            tx,
            pool,
            {.has_shares = has(changed, "sharedWith"), .has_nodes = has(changed, "nodeGroups")}
        )) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the pool has changed meanwhile",
            Json{{"reason", input.version ? "version" : "concurrent-change"}}
        );
    }
    ++pool.version;
    project_pool(context, tx, pool);
    publish_pool(context, tx, pool, "pool.updated", changed);
    return pool_json(pool, input.tenant_id);
}

}  // namespace

method::MethodEntry pools_update() {
    method::Method<UpdateInput> update;
    update.action = "compute:pools:update";
    update.kind = method::Kind::Mutation;
    update.resource = [](const UpdateInput& input) {
        return method::Resource{kPoolType, input.pool_id.str(), std::nullopt};
    };
    update.input(update_manifest());
    update.validate = [parse = std::move(update.validate)](const Json& raw) {
        UpdateInput input = parse(raw);
        if (input.shared_with) {
            check_shares(*input.shared_with, input.tenant_id);
        }
        if (input.node_groups) {
            check_node_groups(*input.node_groups);
        }
        return input;
    };
    update.handler = handle;
    return {
        "pools",
        "update",
        method::define_method(std::move(update)),
        method::MethodRow{
            .action = "compute:pools:update", .resource_type = kPoolType, .alternatives = {}}};
}

}  // namespace compute::capacity
