#include "modules/capacity/node_room.h"

#include <algorithm>
#include <map>

namespace compute::capacity {
namespace {

// What is in use at one instant.
struct Level {
    std::map<std::string, std::int64_t> milli;  // by atom
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;

    void add(const Booking& booking, std::int64_t sign) {
        if (booking.gpu_uuid) {
            milli[*booking.gpu_uuid] += sign * booking.milli;
        }
        cpu_milli += sign * booking.cpu_milli;
        memory_mib += sign * booking.memory_mib;
    }

    [[nodiscard]] bool has_room(const Node& node, const NodeDemand& demand) const {
        if (cpu_milli + demand.cpu_milli > node.cpu_milli ||
            memory_mib + demand.memory_mib > node.memory_mib) {
            return false;
        }
        return std::all_of(demand.atoms.begin(), demand.atoms.end(), [&](const auto& atom) {
            const auto used = milli.find(atom.uuid);
            return used == milli.end() || used->second + atom.milli <= kWholeGpu;
        });
    }
};

}  // namespace

EpochMs free_until(
    const Node& node,
    const std::vector<Booking>& others,
    const NodeDemand& demand,
    EpochMs from,
    EpochMs to
) {
    struct Step {
        EpochMs at;
        std::int64_t sign;
        const Booking* booking;
    };
    std::vector<Step> steps;
    for (const Booking& booking : others) {
        // Children lie inside their parents and use nothing of their own.
        if (!booking.parent_id && booking.starts_at < to && booking.ends_at > from) {
            steps.push_back({std::max(booking.starts_at, from), 1, &booking});
            steps.push_back({booking.ends_at, -1, &booking});
        }
    }
    // Ends before starts at the same instant: windows are half-open.
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return std::pair(a.at, a.sign) < std::pair(b.at, b.sign);
    });
    Level level;
    if (!level.has_room(node, demand)) {
        return from;
    }
    for (const Step& step : steps) {
        if (step.at >= to) {
            break;
        }
        level.add(*step.booking, step.sign);
        if (step.sign > 0 && !level.has_room(node, demand)) {
            return step.at;
        }
    }
    return to;
}

}  // namespace compute::capacity
