// What doctor and the metrics say about nodes.
#pragma once

#include <vector>

#include "method/module.h"

namespace compute::capacity {

[[nodiscard]] std::vector<method::Check> node_checks();
[[nodiscard]] std::vector<method::Gauge> node_gauges();

}  // namespace compute::capacity
