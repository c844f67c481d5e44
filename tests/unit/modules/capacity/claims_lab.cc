#include "tests/unit/modules/capacity/claims_lab.h"

#include "modules/capacity/reservation_checks.h"

namespace compute::capacity {

NodeId ClaimsLab::add_node(const std::string& pool, const NodeShape& shape) {
    Node node;
    node.id = NodeId(new_id(kNodePrefix, plane.clock, plane.rng));
    node.tenant_id = TenantId("acme");
    node.pool_id = PoolId(pool);
    node.name = shape.name;
    node.fabric = shape.fabric;
    node.cpu_milli = shape.cpu_milli;
    node.memory_mib = shape.memory_mib;
    node.expected_gpus = shape.gpus;
    node.created_at = node.updated_at = node.connection_since = plane.clock.now_ms();
    std::vector<NodeGpu> gpus;
    for (std::int64_t i = 0; i < shape.gpus; ++i) {
        NodeGpu gpu;
        gpu.uuid = "GPU-" + pool + "-" + shape.name + "-" + std::to_string(i);
        gpu.index = i;
        gpu.model = shape.model;
        gpu.memory_mib = 81'920;
        gpus.push_back(gpu);
    }
    plane.database().write([&](store::Transaction& tx) {
        EXPECT_TRUE(insert_node(tx, node));
        insert_gpus(tx, node.tenant_id, node.id, gpus);
    });
    return node.id;
}

void ClaimsLab::change_node(const NodeId& id, const std::function<void(Node&)>& change) {
    plane.database().write([&](store::Transaction& tx) {
        Node node = get_node(tx, TenantId("acme"), id);
        change(node);
        EXPECT_TRUE(update_node(tx, node));
    });
}

Json ClaimsLab::asks(const std::string& pool, std::int64_t gpus, double hours, Json more) {
    more["poolId"] = pool;
    more["gpuCount"] = gpus;
    if (!more.contains("durationSeconds")) {
        more["durationSeconds"] = static_cast<std::int64_t>(hours * 3'600);
    }
    return more;
}

namespace {
Json with_defaults(Json request, const std::string& who, int key) {
    const std::string tenant = who.substr(who.find(':') + 1);
    if (!request.contains("tenantId")) {
        request["tenantId"] = tenant.substr(0, tenant.find('#'));
    }
    if (!request.contains("idempotencyKey")) {
        request["idempotencyKey"] = "key-" + std::to_string(key);
    }
    return request;
}
}  // namespace

Json ClaimsLab::reserve(Json request, const std::string& who) {
    return plane.call("reservations/create", who, with_defaults(std::move(request), who, ++keys_));
}

ComputeError ClaimsLab::error_of_reserve(Json request, const std::string& who) {
    return plane.error_of(
        "reservations/create", who, with_defaults(std::move(request), who, ++keys_)
    );
}

Json ClaimsLab::call(const std::string& method, Json input) {
    input["tenantId"] = "acme";
    return plane.call("reservations/" + method, admin, input);
}

ComputeError ClaimsLab::error_of(const std::string& method, Json input) {
    input["tenantId"] = "acme";
    return plane.error_of("reservations/" + method, admin, input);
}

Json ClaimsLab::get(const Json& reservation) {
    return call("get", {{"reservationId", reservation.at("id")}});
}

void ClaimsLab::run_timers() {
    for (int i = 0; i < 1'000; ++i) {
        const auto next = plane.run_reconciler("capacity.timers");
        if (!next || next->count() > 0) {
            return;
        }
    }
    ADD_FAILURE() << "timers never come to rest";
}

void ClaimsLab::run_placer() {
    advance(50);
    (void)plane.run_reconciler("capacity.placer");
}

std::vector<Booking> ClaimsLab::bookings(const Json& reservation, EpochMs after) {
    return plane.database().read([&](store::Transaction& tx) {
        return bookings_of(
            tx,
            TenantId(reservation.at("tenantId").get<std::string>()),
            reservation.at("id").get<std::string>(),
            after
        );
    });
}

std::vector<std::string> ClaimsLab::events() {
    std::vector<std::string> types;
    for (const auto& row : plane.outbox()) {
        if (row.type.starts_with("reservation.")) {
            types.push_back(row.type);
        }
    }
    return types;
}

std::vector<std::string> ClaimsLab::faults() {
    return plane.database().read([&](store::Transaction& tx) {
        std::vector<std::string> all = double_bookings(tx);
        const std::vector<std::string> strays = stray_bookings(tx);
        all.insert(all.end(), strays.begin(), strays.end());
        return all;
    });
}

}  // namespace compute::capacity
