#include "bench/placement/trace.h"

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace compute::bench {
namespace {

std::vector<std::string> split(const std::string& line, char separator) {
    std::vector<std::string> parts;
    std::stringstream stream(line);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

std::vector<std::vector<std::string>> read_rows(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    std::vector<std::vector<std::string>> rows;
    std::string line;
    std::getline(file, line);  // names of the columns
    while (std::getline(file, line)) {
        rows.push_back(split(line, ','));
    }
    return rows;
}

}  // namespace

std::vector<capacity::NodeState> read_nodes(const std::string& path, int copy) {
    std::vector<capacity::NodeState> nodes;
    const std::string suffix = copy == 0 ? "" : "-" + std::to_string(copy);
    for (const auto& row : read_rows(path)) {
        capacity::NodeState node;
        node.id = row.at(0) + suffix;
        node.pool_id = "openb";
        node.cpu_milli = std::stoll(row.at(1));
        node.memory_mib = std::stoll(row.at(2));
        node.version = 1;
        for (int i = 0; i < std::stoi(row.at(3)); ++i) {
            node.gpus.push_back({.uuid = node.id + "/" + std::to_string(i), .model = row.at(4)});
        }
        nodes.push_back(std::move(node));
    }
    return nodes;
}

TraceRequests read_requests(const std::string& path, EpochMs starts_at, EpochMs ends_at) {
    TraceRequests trace;
    for (const auto& row : read_rows(path)) {
        capacity::PlacementRequest request;
        request.gpu_count = std::stoll(row.at(3));
        if (request.gpu_count == 0) {
            ++trace.cpu_only;
            continue;
        }
        request.gpu_milli = std::stoll(row.at(4));
        request.gpus_per_node = request.gpu_count;
        request.cpu_milli_per_gpu = std::stoll(row.at(1)) / request.gpu_count;
        request.memory_mib_per_gpu = std::stoll(row.at(2)) / request.gpu_count;
        if (row.size() > 5 && !row[5].empty()) {
            request.gpu_models = split(row[5], '|');
        }
        request.may_share_gpus = true;
        request.starts_at = starts_at;
        request.ends_at = ends_at;
        trace.requests.push_back(std::move(request));
    }
    return trace;
}

std::int64_t gpu_milli_of(const capacity::PlacementRequest& request) {
    return request.gpu_count * request.gpu_milli;
}

std::int64_t gpu_milli_of(const std::vector<capacity::NodeState>& nodes) {
    return std::accumulate(
        nodes.begin(),
        nodes.end(),
        std::int64_t{0},
        [](std::int64_t sum, const capacity::NodeState& node) {
            return sum + capacity::kWholeGpuMilli * static_cast<std::int64_t>(node.gpus.size());
        }
    );
}

Draw::Draw(const std::vector<capacity::PlacementRequest>& requests, std::uint64_t seed)
    : requests_(&requests), order_(requests.size()), state_(seed) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    shuffle();
}

const capacity::PlacementRequest& Draw::next() {
    if (at_ == order_.size()) {
        shuffle();
    }
    return (*requests_)[order_[at_++]];
}

void Draw::shuffle() {
    at_ = 0;
    for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[below(i)]);
    }
}

// splitmix64: the standard library's distributions differ between implementations.
std::uint64_t Draw::below(std::uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (z ^ (z >> 31)) % bound;
}

}  // namespace compute::bench
