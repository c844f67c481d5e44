// What may be said about a pool: the rules that the pools methods and fleet documents share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "core/ids.h"
#include "schema/manifest.h"

namespace compute::capacity {

inline constexpr const char* kEveryTenant = "*";  // in sharedWith

struct NodeGroup {
    std::string names;  // bracket list, canonical once stored
    std::string gpu_model;
    std::int64_t gpu_count = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::optional<std::string> fabric;
    std::map<std::string, std::string> labels;
    std::vector<std::string> expanded;  // the names, once checked; empty in groups read from a row

    static NodeGroup decode(const Json& value);
    [[nodiscard]] bool is_same(const NodeGroup& other) const;  // whatever is expanded
};

// What a tenant says about a pool beside its name.
struct PoolSettings {
    std::optional<std::string> description;
    std::map<std::string, std::string> labels;
    std::string packing = "pack";   // pack | spread
    std::string sharing = "whole";  // whole | fraction
    std::int64_t fraction_step_milli = 100;
    std::int64_t max_duration_seconds = 30 * 86'400;
    std::int64_t cleanup_seconds = 60;
    std::vector<std::string> shared_with;
    std::int64_t disconnected_after_seconds = 20;
    std::int64_t lost_after_seconds = 120;
    std::string queue = "fill";  // strict | fill
    std::vector<NodeGroup> node_groups;
};

// The rules that no schema states; INVALID_INPUT naming the field. The first two bring the lists
// into their stored spelling and expand the names, which takes time: they run when input is
// validated, before a transaction is open.
void check_node_groups(std::vector<NodeGroup>& groups);
void check_shares(std::vector<std::string>& tenants, const TenantId& owner);
void check_limits(const PoolSettings& settings);

[[nodiscard]] Json node_groups_json(const std::vector<NodeGroup>& groups);

[[nodiscard]] schema::Shape description_shape();
[[nodiscard]] schema::Shape gpu_model_shape();
struct PoolShapes {
    schema::Shape packing;
    schema::Shape sharing;
    schema::Shape fraction_step_milli;
    schema::Shape max_duration_seconds;
    schema::Shape cleanup_seconds;
    schema::Shape shared_with;
    schema::Shape disconnected_after_seconds;
    schema::Shape lost_after_seconds;
    schema::Shape queue;
    schema::Shape node_groups;
};
[[nodiscard]] PoolShapes pool_shapes();

// Binds the settings' fields, with their defaults, to an input that derives from PoolSettings.
template <class Input>
void add_pool_settings(schema::Manifest<Input>& manifest) {
    using Labels = std::map<std::string, std::string>;
    const PoolShapes shapes = pool_shapes();
    const auto text = [&](const char* name, auto member, const schema::Shape& shape, const char* say
                      ) { manifest.template defaulted<std::string>(name, member, shape, say); };
    const auto number =
        [&](const char* name, auto member, const schema::Shape& shape, const char* say) {
            manifest.template defaulted<std::int64_t>(name, member, shape, say);
        };
    manifest.template optional<std::string>(
        "description", &Input::description, description_shape()
    );
    manifest.template defaulted<Labels>("labels", &Input::labels, schema::labels());
    text("packing", &Input::packing, shapes.packing, "default pack");
    text("sharing", &Input::sharing, shapes.sharing, "default whole");
    number(
        "fractionStepMilli", &Input::fraction_step_milli, shapes.fraction_step_milli, "default 100"
    );
    number(
        "maxDurationSeconds",
        &Input::max_duration_seconds,
        shapes.max_duration_seconds,
        "default 2592000"
    );
    number("cleanupSeconds", &Input::cleanup_seconds, shapes.cleanup_seconds, "default 60");
    manifest.template defaulted<std::vector<std::string>>(
        "sharedWith", &Input::shared_with, shapes.shared_with, "tenants, or \"*\" alone"
    );
    number(
        "disconnectedAfterSeconds",
        &Input::disconnected_after_seconds,
        shapes.disconnected_after_seconds,
        "default 20"
    );
    number(
        "lostAfterSeconds",
        &Input::lost_after_seconds,
        shapes.lost_after_seconds,
        "default 120; at least disconnectedAfterSeconds + 40"
    );
    text("queue", &Input::queue, shapes.queue, "default fill");
    manifest.template defaulted<std::vector<NodeGroup>>(
        "nodeGroups", &Input::node_groups, shapes.node_groups, "the nodes expected to join"
    );
}

}  // namespace compute::capacity
