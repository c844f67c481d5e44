// The fields that several nodes methods take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "modules/capacity/node_row.h"
#include "schema/manifest.h"

namespace compute::capacity {

[[nodiscard]] schema::Shape node_id_shape();
[[nodiscard]] schema::Shape fabric_shape();

// NOT_FOUND, or CONFLICT when `version` is given and the row is at another one; on PostgreSQL the
// row stays locked.
[[nodiscard]] Node get_node_to_change(
    store::Transaction& tx,
    const TenantId& tenant,
    const NodeId& id,
    std::optional<std::int64_t> version = std::nullopt
);
// update_node() for a row that get_node_to_change() gave: CONFLICT when another change came
// between, else `node` is as stored.
void save_node(store::Transaction& tx, Node& node, EpochMs now);

}  // namespace compute::capacity
