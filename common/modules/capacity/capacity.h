// The capacity module: what there is (pools and the nodes expected in them), who may use it and
// within which limits.
//
// Files: one per method or small group of them (`pools_create.cc`), one per kind of row (`pool.cc`,
// `expected_nodes.cc`) with all its SQL, `*_fields.cc` for input shapes that methods share. A pool
// row, its lists, its authz projection and its event change in one transaction, always.
#pragma once

#include "method/module.h"

namespace compute::capacity {

[[nodiscard]] method::Module capacity_module();

}  // namespace compute::capacity
