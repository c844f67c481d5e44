// A pool with nodes, and reservations in it, for the tests of claims. Nodes are rows, as an agent's
// first hello would leave them.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/bookings.h"
#include "modules/capacity/capacity.h"
#include "modules/capacity/node_row.h"
#include "modules/capacity/reservation.h"

#include "tests/support/test_plane.h"

namespace compute::capacity {

using support::TestPlane;

inline constexpr EpochMs kHour = 3'600'000;

struct NodeShape {
    std::string name;
    std::int64_t gpus = 8;
    std::string model = "H100";
    std::optional<std::string> fabric = std::nullopt;
    std::int64_t cpu_milli = 96'000;
    std::int64_t memory_mib = 786'432;
};

class ClaimsLab : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity_module()}};
    const std::string admin = TestPlane::admin_of("acme");

    std::string create_pool(const std::string& name = "training", Json more = Json::object()) {
        more["tenantId"] = "acme";
        more["name"] = name;
        return plane.call("pools/create", admin, more).at("id");
    }
    NodeId add_node(const std::string& pool, const NodeShape& shape);
    void change_node(const NodeId& id, const std::function<void(Node&)>& change);

    // What a reservation of `gpus` for `hours` asks for.
    [[nodiscard]] static Json asks(
        const std::string& pool, std::int64_t gpus, double hours = 1, Json more = Json::object()
    );
    Json reserve(Json request, const std::string& who = "admin:acme");
    [[nodiscard]] ComputeError error_of_reserve(
        Json request, const std::string& who = "admin:acme"
    );
    Json call(const std::string& method, Json input);
    [[nodiscard]] ComputeError error_of(const std::string& method, Json input);
    [[nodiscard]] Json get(const Json& reservation);
    [[nodiscard]] std::string state_of(const Json& reservation) {
        return get(reservation).at("state");
    }

    // Runs what is due until nothing is.
    void run_timers();
    // One pass; the clock moves on by the 50 ms that passes are apart.
    void run_placer();
    void advance(EpochMs by) { plane.clock.advance(std::chrono::milliseconds(by)); }

    [[nodiscard]] std::vector<Booking> bookings(const Json& reservation, EpochMs after = 0);
    // The types of events about reservations, in order.
    [[nodiscard]] std::vector<std::string> events();
    // Faults of the invariants I1, I3 and I6 over all rows; empty when they hold.
    [[nodiscard]] std::vector<std::string> faults();

private:
    int keys_ = 0;
};

}  // namespace compute::capacity
