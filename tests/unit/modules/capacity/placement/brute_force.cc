#include "tests/unit/modules/capacity/placement/brute_force.h"

#include <algorithm>

namespace compute::capacity {
namespace {

bool is_placeable(const GpuState& gpu) {
    return gpu.health == GpuHealth::Healthy || gpu.health == GpuHealth::Degraded;
}

bool is_allowed(const PlacementRequest& request, const GpuState& gpu) {
    return request.gpu_models.empty() ||
           std::count(request.gpu_models.begin(), request.gpu_models.end(), gpu.model) > 0;
}

}  // namespace

void BruteForce::add(const Placement& placement, EpochMs starts_at, EpochMs ends_at) {
    for (const PlannedBooking& booking : placement.bookings) {
        bookings_.push_back({booking, starts_at, ends_at});
    }
}

void BruteForce::remove(const Placement& placement, EpochMs starts_at, EpochMs ends_at) {
    for (const PlannedBooking& booking : placement.bookings) {
        const auto same =
            std::find_if(bookings_.begin(), bookings_.end(), [&](const BruteBooking& other) {
                return other.booking.node_id == booking.node_id &&
                       other.booking.gpu_uuid == booking.gpu_uuid &&
                       other.booking.milli == booking.milli &&
                       other.booking.cpu_milli == booking.cpu_milli &&
                       other.starts_at == starts_at && other.ends_at == ends_at;
            });
        bookings_.erase(same);
    }
}

BruteForce::Free BruteForce::free_on(const NodeState& node, EpochMs from, EpochMs to) const {
    Free least{
        .milli = std::vector<std::int64_t>(node.gpus.size(), kWholeGpuMilli),
        .cpu = node.cpu_milli,
        .memory = node.memory_mib,
        .is_untouched = true};
    for (EpochMs at = from; at < to; ++at) {
        std::vector<std::int64_t> milli(node.gpus.size(), kWholeGpuMilli);
        std::int64_t cpu = node.cpu_milli;
        std::int64_t memory = node.memory_mib;
        for (const BruteBooking& other : bookings_) {
            if (other.booking.node_id != node.id || other.starts_at > at || other.ends_at <= at) {
                continue;
            }
            least.is_untouched = false;
            cpu -= other.booking.cpu_milli;
            memory -= other.booking.memory_mib;
            for (std::size_t i = 0; i < node.gpus.size(); ++i) {
                milli[i] -= node.gpus[i].uuid == other.booking.gpu_uuid ? other.booking.milli : 0;
            }
        }
        least.cpu = std::min(least.cpu, cpu);
        least.memory = std::min(least.memory, memory);
        for (std::size_t i = 0; i < milli.size(); ++i) {
            least.milli[i] = std::min(least.milli[i], milli[i]);
        }
    }
    return least;
}

std::string BruteForce::fault() const {
    for (const BruteBooking& booking : bookings_) {
        for (const NodeState& node : nodes_) {
            const Free free = free_on(node, booking.starts_at, booking.ends_at);
            if (free.cpu < 0 || free.memory < 0) {
                return "too much CPU or memory of " + node.id;
            }
            for (const std::int64_t milli : free.milli) {
                if (milli < 0) {
                    return "too much of a GPU of " + node.id;
                }
            }
        }
    }
    return {};
}

std::int64_t BruteForce::gives(
    const PlacementRequest& request, const NodeState& node, const Free& free, std::int64_t want
) const {
    const auto count = static_cast<std::int64_t>(node.gpus.size());
    std::int64_t usable = 0;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        usable += is_placeable(node.gpus[i]) && is_allowed(request, node.gpus[i]) &&
                          free.milli[i] >= request.gpu_milli
                      ? 1
                      : 0;
    }
    if (request.is_exclusive) {
        return free.is_untouched && usable == count && count > 0 && count <= want ? count : 0;
    }
    const std::int64_t cpu = request.cpu_milli_per_gpu.value_or(
        count == 0 ? 0 : node.cpu_milli / count * request.gpu_milli / kWholeGpuMilli
    );
    const std::int64_t memory = request.memory_mib_per_gpu.value_or(
        count == 0 ? 0 : node.memory_mib / count * request.gpu_milli / kWholeGpuMilli
    );
    std::int64_t given = std::min(usable, want);
    while (given > 0 && (given * cpu > free.cpu || given * memory > free.memory)) {
        --given;
    }
    return given;
}

template <class FreeOf>
bool BruteForce::fits_with(const PlacementRequest& request, FreeOf free_of) const {
    // What each node gives at most; the domains of the claim's nodes are one where it asks for it.
    std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> domains;
    const std::int64_t want =
        request.gpus_per_node.value_or(std::min<std::int64_t>(request.gpu_count, 16));
    int alone = 0;
    for (const NodeState& node : nodes_) {
        const std::optional<Free> free = free_of(node);
        if (!free) {
            continue;
        }
        const std::int64_t given = gives(request, node, *free, want);
        if (given == 0 || (request.gpus_per_node && given < want)) {
            continue;
        }
        alone += given == request.gpu_count ? 1 : 0;
        const bool is_required = request.fabric == FabricWish::Require;
        if (is_required && !node.fabric) {
            continue;
        }
        domains[is_required ? *node.fabric : ""].emplace_back(given, node.gpus.size());
    }
    if (alone > 0) {
        return true;
    }
    for (const auto& [name, nodes] : domains) {
        std::map<std::int64_t, std::int64_t> by_size;
        std::int64_t sum = 0;
        for (const auto& [given, size] : nodes) {
            by_size[size] += given;
            sum += given;
        }
        if (!request.is_exclusive || request.gpus_per_node) {
            if (sum >= request.gpu_count) {
                return true;
            }
            continue;
        }
        for (const auto& [size, given] : by_size) {
            if (given >= request.gpu_count && request.gpu_count % size == 0) {
                return true;
            }
        }
    }
    return false;
}

bool BruteForce::fits(const PlacementRequest& request) const {
    return fits_with(request, [&](const NodeState& node) -> std::optional<Free> {
        if (!node.is_ready || !node.is_enabled) {
            return std::nullopt;
        }
        return free_on(node, request.starts_at, request.ends_at);
    });
}

bool BruteForce::could_ever_fit(const PlacementRequest& request) const {
    return fits_with(request, [&](const NodeState& node) {
        return std::optional(free_on(node, 0, 0));
    });
}

std::optional<EpochMs> BruteForce::find_start(PlacementRequest request, EpochMs from, EpochMs until)
    const {
    const EpochMs duration = request.ends_at - request.starts_at;
    for (EpochMs at = from; at < until; ++at) {
        request.starts_at = at;
        request.ends_at = at + duration;
        if (fits(request)) {
            return at;
        }
    }
    return std::nullopt;
}

std::string BruteForce::objection(const PlacementRequest& request, const Placement& placement)
    const {
    if (static_cast<std::int64_t>(placement.bookings.size()) != request.gpu_count) {
        return "not as many GPUs as asked for";
    }
    std::map<std::string, std::int64_t> per_node;
    std::set<std::string> gpus;
    std::set<std::string> domains;
    for (const PlannedBooking& booking : placement.bookings) {
        ++per_node[booking.node_id];
        if (!gpus.insert(booking.gpu_uuid).second || booking.milli != request.gpu_milli) {
            return "a GPU twice, or a wrong share of it";
        }
        const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const NodeState& other) {
            return other.id == booking.node_id;
        });
        const auto gpu =
            std::find_if(node->gpus.begin(), node->gpus.end(), [&](const GpuState& other) {
                return other.uuid == booking.gpu_uuid;
            });
        if (gpu == node->gpus.end() || !is_placeable(*gpu) || !is_allowed(request, *gpu) ||
            !node->is_ready || !node->is_enabled) {
            return "a GPU that must not be used";
        }
        domains.insert(node->fabric.value_or("?" + node->id));
    }
    for (const auto& [node, count] : per_node) {
        if (request.gpus_per_node && count != *request.gpus_per_node) {
            return "a node with a wrong number of GPUs";
        }
    }
    if (request.fabric == FabricWish::Require && domains.size() > 1) {
        return "more than one domain";
    }
    return {};
}

}  // namespace compute::capacity
