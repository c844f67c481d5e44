#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/modules/capacity/placement/brute_force.h"

namespace compute::capacity {
namespace {

constexpr const char* kPool = "pool_1";
constexpr EpochMs kLast = 12;  // no window ends later

NodeState any_node(int number) {
    NodeState node;
    node.id = "node_" + std::to_string(number);
    node.pool_id = kPool;
    node.version = 1;
    node.is_ready = *rc::gen::weightedElement<bool>({{9, true}, {1, false}});
    node.is_enabled = *rc::gen::weightedElement<bool>({{9, true}, {1, false}});
    node.cpu_milli = *rc::gen::element<std::int64_t>(4'000, 8'000, 9'001);
    node.memory_mib = *rc::gen::element<std::int64_t>(4'096, 8'192);
    if (*rc::gen::weightedElement<bool>({{3, true}, {1, false}})) {
        node.fabric = *rc::gen::element<std::string>("rack-1", "rack-2");
    }
    const auto model = *rc::gen::element<std::string>("H100", "A100");
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
        const bool is_odd = *rc::gen::weightedElement<bool>({{1, true}, {9, false}});
        node.gpus.push_back(
            {.uuid = node.id + "-gpu-" + std::to_string(i),
             .model = is_odd ? "T4" : model,
             .health = *rc::gen::weightedElement<GpuHealth>(
                 {{8, GpuHealth::Healthy},
                  {1, GpuHealth::Degraded},
                  {1, GpuHealth::Missing},
                  {1, GpuHealth::Failed}}
             )}
        );
    }
    return node;
}

std::vector<NodeState> any_nodes() {
    std::vector<NodeState> nodes;
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        nodes.push_back(any_node(i));
    }
    return nodes;
}

PlacementRequest any_request() {
    PlacementRequest request;
    request.may_share_gpus = true;
    request.packing = *rc::gen::element(Packing::Pack, Packing::Spread);
    request.fabric = *rc::gen::element(FabricWish::None, FabricWish::Prefer, FabricWish::Require);
    request.starts_at = *rc::gen::inRange<EpochMs>(0, kLast - 1);
    request.ends_at = *rc::gen::inRange<EpochMs>(request.starts_at + 1, kLast + 1);
    if (*rc::gen::inRange(0, 3) == 0) {
        request.gpu_milli = *rc::gen::element<std::int64_t>(100, 300, 500, 900);
    } else {
        request.gpu_count = *rc::gen::inRange<std::int64_t>(1, 9);
        request.is_exclusive = *rc::gen::inRange(0, 5) == 0;
        const std::int64_t per_node = *rc::gen::inRange<std::int64_t>(1, 5);
        if (request.gpu_count % per_node == 0 && *rc::gen::arbitrary<bool>()) {
            request.gpus_per_node = per_node;
        }
    }
    request.gpu_models = *rc::gen::elementOf(std::vector<std::vector<std::string>>{
        {}, {}, {"H100"}, {"A100", "T4"}, {"B200"}});
    if (*rc::gen::arbitrary<bool>()) {
        request.cpu_milli_per_gpu = *rc::gen::element<std::int64_t>(0, 1'000, 3'000);
        request.memory_mib_per_gpu = *rc::gen::element<std::int64_t>(0, 512, 4'096);
    }
    return request;
}

// An index and the plain model of it, filled by the same claims.
struct Pair {
    PlacementIndex index;
    BruteForce brute;

    explicit Pair(const std::vector<NodeState>& nodes) : brute(nodes) {
        for (const NodeState& node : nodes) {
            index.put_node(node);
        }
    }
    void fill(int claims) {
        for (; claims > 0; --claims) {
            const PlacementRequest request = any_request();
            const HoldResult held = index.hold(kPool, request, 0);
            if (held.hold != 0) {
                brute.add(*held.result.placement, request.starts_at, request.ends_at);
            }
        }
    }
};

TEST(PlacementProperty, AClaimIsPlacedExactlyWhenItFitsAndNoLimitIsEverBroken) {
    EXPECT_TRUE(rc::check("fits", [] {
        Pair pair(any_nodes());
        for (int i = *rc::gen::inRange(1, 14); i > 0; --i) {
            const PlacementRequest request = any_request();
            const bool fits = pair.brute.fits(request);

            const HoldResult held = pair.index.hold(kPool, request, 0);

            RC_ASSERT((held.hold != 0) == fits);
            RC_ASSERT(held.result.placement.has_value() != held.result.explanation.has_value());
            if (held.hold != 0) {
                RC_ASSERT(pair.brute.objection(request, *held.result.placement) == "");
                pair.brute.add(*held.result.placement, request.starts_at, request.ends_at);
                RC_ASSERT(pair.brute.fault() == "");
            }
        }
    }));
}

TEST(PlacementProperty, ARefusalNamesTheFirstTimeAtWhichTheClaimFits) {
    EXPECT_TRUE(rc::check("earliest", [] {
        Pair pair(any_nodes());
        pair.fill(*rc::gen::inRange(2, 14));
        const PlacementRequest request = any_request();
        RC_PRE(!pair.brute.fits(request));

        const Explanation why = *pair.index.place(kPool, request, 0).explanation;

        // Behind the last booking nothing changes any more.
        const auto start = pair.brute.find_start(request, request.starts_at, kLast + 1);
        RC_ASSERT(why.earliest_start == start);
        RC_ASSERT(why.could_ever_fit == pair.brute.could_ever_fit(request));
        RC_ASSERT(pair.index.could_ever_fit(kPool, request) == why.could_ever_fit);
        const Explanation::Filtered& filtered = why.filtered;
        RC_ASSERT(
            filtered.model + filtered.busy + filtered.health + filtered.disconnected +
                filtered.cordoned + filtered.cpu + filtered.memory + filtered.fabric <=
            why.nodes
        );
    }));
}

TEST(PlacementProperty, EqualHistoriesGiveEqualDecisions) {
    EXPECT_TRUE(rc::check("determinism", [] {
        const auto nodes = any_nodes();
        Pair one(nodes);
        // The other one learns of the nodes in reverse, and of some twice.
        Pair other({});
        for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
            other.index.put_node(*node);
            other.index.put_node(*node);
        }
        for (int i = *rc::gen::inRange(1, 14); i > 0; --i) {
            const PlacementRequest request = any_request();
            one.index.note_demand(kPool, request, 0);
            other.index.note_demand(kPool, request, 0);
            const HoldResult a = one.index.hold(kPool, request, 0);
            const HoldResult b = other.index.hold(kPool, request, 0);
            RC_ASSERT(a.hold == b.hold);
            if (a.hold == 0) {
                continue;
            }
            const auto& left = a.result.placement->bookings;
            const auto& right = b.result.placement->bookings;
            RC_ASSERT(std::equal(
                left.begin(),
                left.end(),
                right.begin(),
                right.end(),
                [](const PlannedBooking& x, const PlannedBooking& y) {
                    return x.node_id == y.node_id && x.gpu_uuid == y.gpu_uuid &&
                           x.cpu_milli == y.cpu_milli;
                }
            ));
        }
    }));
}

TEST(PlacementProperty, ADroppedHoldLeavesNothingBehind) {
    EXPECT_TRUE(rc::check("drop", [] {
        Pair pair(any_nodes());
        pair.fill(*rc::gen::inRange(0, 8));
        const PlacementRequest passing = any_request();
        const HoldResult held = pair.index.hold(kPool, passing, 0);
        pair.index.drop_hold(held.hold);
        pair.index.drop_hold(held.hold);

        const PlacementRequest request = any_request();

        RC_ASSERT(
            pair.index.place(kPool, request, 0).placement.has_value() == pair.brute.fits(request)
        );
    }));
}

}  // namespace
}  // namespace compute::capacity
