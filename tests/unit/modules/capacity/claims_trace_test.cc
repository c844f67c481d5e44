// A fleet is filled through the API, as a GPU trace would fill it, and the invariants hold after
// every step. The fleet and its requests are made up; with BETTER_COMPUTE_TRACE (the folder of the
// trace's CSV files) and BETTER_COMPUTE_TRACE_VARIANT they are the real ones.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/unit/modules/capacity/claims_lab.h"

namespace compute::capacity {
namespace {

using ::testing::IsEmpty;

constexpr std::int64_t kStepMilli = 50;

struct TraceRequest {
    std::int64_t gpus = 1;
    std::int64_t milli = 1000;
    std::int64_t cpu_milli = 0;  // of the whole request
    std::int64_t memory_mib = 0;
    std::vector<std::string> models;
};

struct Trace {
    std::vector<NodeShape> nodes;
    std::vector<TraceRequest> requests;
    int steps_between_looks = 1;
    double least_share = 0;  // percent of the GPUs allocated when all of them were asked for
};

// Thirteen nodes, 64 GPUs; mostly shares and single GPUs, some of one model, few of many GPUs.
Trace made_up() {
    Trace trace;
    for (int i = 0; i < 13; ++i) {
        const bool is_big = i < 6;
        trace.nodes.push_back(
            {.name = "n" + std::to_string(i),
             .gpus = is_big ? 8 : 2,
             .model = i % 3 == 0 ? "A100" : "T4",
             .fabric = std::nullopt,
             .cpu_milli = is_big ? 96'000 : 32'000,
             .memory_mib = is_big ? 786'432 : 131'072}
        );
    }
    std::uint32_t state = 7;
    const auto below = [&](std::uint32_t bound) {
        state = state * 1'664'525 + 1'013'904'223;
        return static_cast<std::int64_t>((state >> 8) % bound);
    };
    for (int i = 0; i < 400; ++i) {
        TraceRequest request;
        const std::int64_t kind = below(10);
        request.gpus = kind < 8 ? 1 : 1 << below(4);
        request.milli = kind < 4 ? kStepMilli * (1 + below(19)) : 1000;
        request.cpu_milli = request.gpus * (2'000 + 1'000 * below(8));
        request.memory_mib = request.gpus * (4'096 + 4'096 * below(8));
        if (below(4) == 0) {
            request.models = {"A100"};
        }
        trace.requests.push_back(request);
    }
    trace.least_share = 80;
    return trace;
}

std::vector<std::vector<std::string>> read_rows(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::vector<std::string>> rows;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::stringstream cells(line);
        rows.emplace_back();
        for (std::string cell; std::getline(cells, cell, ',');) {
            rows.back().push_back(cell);
        }
    }
    return rows;
}

Trace read_trace(const std::string& folder, const std::string& variant) {
    Trace trace;
    for (const auto& row : read_rows(folder + "/openb_node_list_gpu_node.csv")) {
        trace.nodes.push_back(
            {.name = row.at(0),
             .gpus = std::stoll(row.at(3)),
             .model = row.at(4),
             .fabric = std::nullopt,
             .cpu_milli = std::stoll(row.at(1)),
             .memory_mib = std::stoll(row.at(2))}
        );
    }
    for (const auto& row : read_rows(folder + "/openb_pod_list_" + variant + ".csv")) {
        TraceRequest request;
        request.gpus = std::stoll(row.at(3));
        if (request.gpus == 0) {
            continue;
        }
        // Shares come in steps of the pool's: what does not fit one is rounded up.
        request.milli = (std::stoll(row.at(4)) + kStepMilli - 1) / kStepMilli * kStepMilli;
        request.cpu_milli = std::stoll(row.at(1));
        request.memory_mib = std::stoll(row.at(2));
        std::stringstream models(row.size() > 5 ? row[5] : std::string());
        for (std::string model; std::getline(models, model, '|');) {
            if (std::count(request.models.begin(), request.models.end(), model) == 0) {
                request.models.push_back(model);
            }
        }
        trace.requests.push_back(request);
    }
    trace.steps_between_looks = 500;
    trace.least_share = variant == "gpushare100" ? 86 : 93;
    return trace;
}

Trace any_trace() {
    const char* folder = std::getenv("BETTER_COMPUTE_TRACE");
    const char* variant = std::getenv("BETTER_COMPUTE_TRACE_VARIANT");
    return folder == nullptr ? made_up()
                             : read_trace(folder, variant == nullptr ? "default" : variant);
}

class ClaimsTrace : public ClaimsLab {};

INSTANTIATE_TEST_SUITE_P(Engines, ClaimsTrace, support::both_engines(), support::engine_name);

TEST_P(ClaimsTrace, FillsTheFleetAndBreaksNoInvariant) {
    const Trace trace = any_trace();
    const std::string pool =
        create_pool("openb", {{"sharing", "fraction"}, {"fractionStepMilli", kStepMilli}});
    std::int64_t fleet = 0;
    for (const NodeShape& shape : trace.nodes) {
        add_node(pool, shape);
        fleet += shape.gpus * 1000;
    }

    std::int64_t asked = 0;
    std::int64_t placed = 0;
    for (std::size_t i = 0; asked < fleet; ++i) {
        const TraceRequest& request = trace.requests[i % trace.requests.size()];
        Json input = asks(pool, request.gpus, 24);
        if (request.milli < 1000) {
            input["gpuMilli"] = request.milli;
        } else {
            input["gpusPerNode"] = request.gpus;
        }
        input["cpuMilliPerGpu"] = request.cpu_milli / request.gpus;
        input["memoryMibPerGpu"] = request.memory_mib / request.gpus;
        if (!request.models.empty()) {
            input["gpuModels"] = request.models;
        }
        const std::string state = reserve(input).at("state");
        asked += request.gpus * request.milli;
        placed += state == "pending" ? 0 : request.gpus * request.milli;
        if (i % static_cast<std::size_t>(trace.steps_between_looks) == 0) {
            ASSERT_THAT(faults(), IsEmpty()) << "after request " << i;
        }
    }

    EXPECT_THAT(faults(), IsEmpty());
    const double share = 100.0 * static_cast<double>(placed) / static_cast<double>(fleet);
    RecordProperty("allocated_percent", std::to_string(share));
    EXPECT_GE(share, trace.least_share);
}

}  // namespace
}  // namespace compute::capacity
