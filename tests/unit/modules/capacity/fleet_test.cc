// The public GPU trace fleet (1,213 nodes, 6,212 GPUs, 15 shapes), one pool per shape. It is data
// beside the checkout and not part of it; where it is missing the same shapes and counts are
// generated, with names of the same form.
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/capacity/capacity.h"
#include "modules/capacity/name_list.h"

#include "tests/support/test_plane.h"

namespace compute::capacity {
namespace {

using support::TestPlane;

struct Shape {
    std::string model;
    std::int64_t gpus = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    friend auto operator<=>(const Shape&, const Shape&) = default;
};
using Fleet = std::map<Shape, std::vector<std::string>>;

std::string node_name(int index) {
    std::string digits = std::to_string(index);
    return "openb-node-" + std::string(4 - digits.size(), '0') + digits;
}

Fleet read_fleet(std::istream& file) {
    Fleet fleet;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string name;
        std::string cpu;
        std::string memory;
        std::string gpus;
        Shape shape;
        std::getline(fields, name, ',');
        std::getline(fields, cpu, ',');
        std::getline(fields, memory, ',');
        std::getline(fields, gpus, ',');
        std::getline(fields, shape.model, ',');
        shape.gpus = std::stoll(gpus);
        shape.cpu_milli = std::stoll(cpu);
        shape.memory_mib = std::stoll(memory);
        fleet[shape].push_back(name);
    }
    return fleet;
}

// 15 shapes whose nodes are dealt out in runs, so that every list has several ranges.
Fleet generated_fleet() {
    static const std::vector<std::pair<Shape, int>> kShapes{
        {{"G2", 8, 96000, 393216}, 549},
        {{"T4", 2, 104000, 524288}, 387},
        {{"P100", 2, 16000, 122880}, 107},
        {{"G3", 8, 128000, 786432}, 39},
        {{"V100M16", 4, 32000, 131072}, 28},
        {{"P100", 2, 64000, 262144}, 22},
        {{"V100M32", 8, 96000, 786432}, 21},
        {{"V100M16", 1, 8000, 32768}, 19},
        {{"T4", 4, 96000, 393216}, 17},
        {{"V100M32", 4, 48000, 376832}, 9},
        {{"V100M16", 8, 64000, 262144}, 7},
        {{"P100", 1, 8000, 61440}, 3},
        {{"P100", 2, 8000, 61440}, 2},
        {{"A10", 1, 128000, 1048576}, 2},
        {{"V100M16", 8, 82000, 344064}, 1}};
    Fleet fleet;
    std::vector<int> left;
    for (const auto& [shape, count] : kShapes) {
        left.push_back(count);
    }
    int index = 0;
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (std::size_t i = 0; i < kShapes.size(); ++i) {
            for (int run = 0; run < 37 && left[i] > 0; ++run, --left[i]) {
                fleet[kShapes[i].first].push_back(node_name(index++));
            }
            is_done = is_done && left[i] == 0;
        }
    }
    return fleet;
}

Fleet the_fleet() {
    std::ifstream file(BETTER_COMPUTE_TRACE_FLEET);
    if (!file) {
        ::testing::Test::RecordProperty("fleet", "generated");
        return generated_fleet();
    }
    ::testing::Test::RecordProperty("fleet", "trace");
    return read_fleet(file);
}

class TraceFleet : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, TraceFleet, support::both_engines(), support::engine_name);

TEST_P(TraceFleet, FitsFifteenPoolsAndIsCountedBackWhole) {
    TestPlane plane(GetParam(), {capacity_module()});
    const Fleet fleet = the_fleet();
    ASSERT_EQ(fleet.size(), 15U);
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
    std::size_t bytes = 0;

    int number = 0;
    for (const auto& [shape, names] : fleet) {
        Json groups = Json::array();
        for (const std::string& list : compress_names(names)) {
            groups.push_back(Json{
                {"names", list},
                {"gpuModel", shape.model},
                {"gpuCount", shape.gpus},
                {"cpuMilli", shape.cpu_milli},
                {"memoryMib", shape.memory_mib}});
        }
        ASSERT_EQ(groups.size(), 1U);
        const Json input{
            {"tenantId", "acme"},
            {"name", "shape-" + std::to_string(number++)},
            {"nodeGroups", groups}};
        bytes += dump_json(input).size();
        const Json pool = plane.call("pools/create", TestPlane::admin_of("acme"), input);
        EXPECT_EQ(pool.at("nodeGroups"), groups);
        const Json capacity = plane.call(
            "pools/capacity",
            TestPlane::admin_of("acme"),
            {{"tenantId", "acme"}, {"poolId", pool.at("id")}}
        );
        EXPECT_EQ(
            capacity.at("models")[0].at("total"),
            static_cast<std::int64_t>(names.size()) * shape.gpus
        );
        nodes += capacity.at("gpus").at("expectedNodes").get<std::int64_t>();
        gpus += capacity.at("gpus").at("total").get<std::int64_t>();
    }

    std::int64_t expected_nodes = 0;
    std::int64_t expected_gpus = 0;
    for (const auto& [shape, names] : fleet) {
        expected_nodes += static_cast<std::int64_t>(names.size());
        expected_gpus += static_cast<std::int64_t>(names.size()) * shape.gpus;
    }
    EXPECT_EQ(nodes, expected_nodes);
    EXPECT_EQ(gpus, expected_gpus);
    EXPECT_EQ(nodes, 1213);
    EXPECT_LT(
        bytes, 8192U
    );  // all fifteen calls together: bracket lists are what makes a fleet fit
    EXPECT_EQ(
        plane.call("pools/list", TestPlane::admin_of("acme"), {{"tenantId", "acme"}})
            .at("items")
            .size(),
        15U
    );
}

}  // namespace
}  // namespace compute::capacity
