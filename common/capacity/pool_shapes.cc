#include <nlohmann/json.hpp>

#include "capacity/name_list.h"
#include "capacity/pool_settings.h"

namespace compute::capacity {
namespace {

constexpr std::size_t kMaxDescription = 512;
constexpr std::size_t kMaxFabric = 128;
constexpr std::size_t kMaxNodeGroups = 64;
constexpr std::size_t kMaxShares = 200;
constexpr std::int64_t kMaxGpusPerNode = 16;
constexpr std::int64_t kMaxCpuMilli = 1'024'000;
constexpr std::int64_t kMaxMemoryMib = 67'108'864;  // 64 TiB

schema::Shape node_group_shape() {
    return schema::object({
        {"names",
         schema::string({.pattern = {}, .min_length = 1, .max_length = kMaxNameListLength}),
         true,
         "a bracket list: gpu-[0000-0021,0037]"},
        {"gpuModel", gpu_model_shape(), true, ""},
        {"gpuCount", schema::integer({.min = 0, .max = kMaxGpusPerNode}), true, "GPUs of one node"},
        {"cpuMilli",
         schema::integer({.min = 1, .max = kMaxCpuMilli}),
         true,
         "thousandths of a CPU of one node"},
        {"memoryMib",
         schema::integer({.min = 1, .max = kMaxMemoryMib}),
         true,
         "memory of one node"},
        {"fabric",
         schema::string({.pattern = {}, .min_length = 1, .max_length = kMaxFabric}),
         false,
         "the interconnect domain the nodes share"},
        {"labels", schema::labels(), false, ""},
    });
}

}  // namespace

schema::Shape description_shape() {
    return schema::string({.pattern = {}, .max_length = kMaxDescription});
}

schema::Shape gpu_model_shape() {
    return schema::string({.pattern = "^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$", .max_length = 64});
}

PoolShapes pool_shapes() {
    return {
        .packing = schema::one_of({"pack", "spread"}),
        .sharing = schema::one_of({"whole", "fraction"}),
        .fraction_step_milli = schema::integer({.min = 50, .max = 500}),
        .max_duration_seconds = schema::integer({.min = 60, .max = 15'724'800}),
        .cleanup_seconds = schema::integer({.min = 0, .max = 3600}),
        .shared_with = schema::array(
            schema::string({.pattern = "^(\\*|[A-Za-z0-9._:-]{1,128})$", .max_length = 128}),
            {.min_items = 0, .max_items = kMaxShares, .unique = true}
        ),
        .disconnected_after_seconds = schema::integer({.min = 20, .max = 600}),
        .lost_after_seconds = schema::integer({.min = 60, .max = 86'400}),
        .queue = schema::one_of({"strict", "fill"}),
        .node_groups = schema::array(
            node_group_shape(), {.min_items = 0, .max_items = kMaxNodeGroups, .unique = false}
        ),
    };
}

}  // namespace compute::capacity
