#include "modules/capacity/placing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "modules/capacity/node_room.h"
#include "modules/capacity/node_row.h"

namespace compute::capacity {
namespace {

constexpr int kTries = 5;

FabricWish fabric_wish(const std::string& name) {
    if (name == "none") {
        return FabricWish::None;
    }
    return name == "require" ? FabricWish::Require : FabricWish::Prefer;
}

NodeDemand demand_of(const std::vector<PlannedBooking>& planned) {
    NodeDemand demand;
    for (const PlannedBooking& booking : planned) {
        if (!booking.gpu_uuid.empty()) {
            demand.atoms.push_back({booking.gpu_uuid, booking.milli});
        }
        demand.cpu_milli += booking.cpu_milli;
        demand.memory_mib += booking.memory_mib;
    }
    return demand;
}

bool has_usable_gpus(
    store::Transaction& tx, const TenantId& tenant, const NodeId& node, const NodeDemand& demand
) {
    const std::vector<NodeGpu> gpus = gpus_of(tx, tenant, node);
    return std::all_of(demand.atoms.begin(), demand.atoms.end(), [&](const auto& atom) {
        return std::any_of(gpus.begin(), gpus.end(), [&](const NodeGpu& gpu) {
            return gpu.uuid == atom.uuid && (gpu.health == "healthy" || gpu.health == "degraded");
        });
    });
}

// The node has changed since the choice was made, perhaps elsewhere: its rows decide. It is locked
// first, so that nobody else books on it until this transaction ends. Returns its version.
std::optional<std::int64_t> version_with_room(
    store::Transaction& tx,
    const TenantId& tenant,
    const NodeId& id,
    const std::vector<PlannedBooking>& planned,
    const Window& window
) {
    const auto node = find_node_to_change(tx, id);
    if (!node || node->tenant_id != tenant || node->connection != "ready" ||
        node->admin != "enabled") {
        return std::nullopt;
    }
    const NodeDemand demand = demand_of(planned);
    const EpochMs from = window.starts_at;
    const EpochMs to = window.booked_until;
    if (!has_usable_gpus(tx, tenant, id, demand) ||
        free_until(*node, bookings_within(tx, id, from, to), demand, from, to) < to) {
        return std::nullopt;
    }
    return node->version;
}

// Marks the node as changed if what was chosen on it is free, by version or by its rows. Returns
// the version it has then; nullopt when something is taken.
std::optional<std::int64_t> mark_if_free(
    store::Transaction& tx,
    const TenantId& tenant,
    const NodeStamp& stamp,
    const std::vector<PlannedBooking>& planned,
    const Window& window
) {
    const NodeId id(stamp.node_id);
    if (compare_and_mark(tx, tenant, id, stamp.version)) {
        return stamp.version + 1;
    }
    const auto version = version_with_room(tx, tenant, id, planned, window);
    if (!version) {
        return std::nullopt;
    }
    mark_node_changed(tx, tenant, id);
    return *version + 1;
}

using ByNode = std::map<std::string, std::vector<PlannedBooking>>;

ByNode by_node(const Placement& placement) {
    ByNode out;
    for (const PlannedBooking& booking : placement.bookings) {
        out[booking.node_id].push_back(booking);
    }
    return out;
}

// Which nodes no longer have what was chosen, and the versions of those that have. Nodes are locked
// in the order of their ids, whatever the order of the choice, so that two gangs never wait for
// each other.
struct Marked {
    std::vector<NodeStamp> stamps;
    std::vector<std::string> taken;
};
Marked mark_nodes(
    store::Transaction& tx, const BookFor& who, const Placement& placement, const Window& window
) {
    std::map<std::string, std::int64_t> versions;
    for (const NodeStamp& stamp : placement.nodes) {
        versions[stamp.node_id] = stamp.version;
    }
    Marked marked;
    for (const auto& [node_id, planned] : by_node(placement)) {
        const NodeStamp stamp{.node_id = node_id, .version = versions[node_id]};
        if (const auto version = mark_if_free(tx, who.pool_tenant_id, stamp, planned, window)) {
            marked.stamps.push_back({.node_id = node_id, .version = *version});
        } else {
            marked.taken.push_back(node_id);
        }
    }
    return marked;
}

std::vector<Booking> bookings_for(
    const method::Context& context,
    const BookFor& who,
    const Placement& placement,
    const Window& window
) {
    std::vector<Booking> bookings;
    bookings.reserve(placement.bookings.size());
    for (const PlannedBooking& planned : placement.bookings) {
        bookings.push_back(
            {.id = context.new_id(kBookingPrefix),
             .tenant_id = who.tenant_id,
             .pool_id = who.pool_id,
             .node_id = NodeId(planned.node_id),
             .gpu_uuid = planned.gpu_uuid.empty() ? std::nullopt : std::optional(planned.gpu_uuid),
             .milli = planned.milli,
             .cpu_milli = planned.cpu_milli,
             .memory_mib = planned.memory_mib,
             .starts_at = window.starts_at,
             .ends_at = window.booked_until,
             .holder_type = kReservationType,
             .holder_id = who.holder_id,
             .parent_id = std::nullopt}
        );
    }
    std::stable_sort(bookings.begin(), bookings.end(), [](const Booking& a, const Booking& b) {
        return a.node_id < b.node_id;
    });
    return bookings;
}

}  // namespace

Window window_of(const ReservationRequest& request, const PoolSettings& pool, EpochMs now) {
    const EpochMs start = std::max(request.starts_at.value_or(now), now);
    const EpochMs end = start + request.duration_ms();
    return {.starts_at = start, .ends_at = end, .booked_until = end + pool.cleanup_seconds * 1000};
}

PlacementRequest placement_request(
    const ReservationRequest& request, const PoolSettings& pool, const Window& window
) {
    return {
        .gpu_count = request.gpu_count,
        .gpu_milli = request.milli(),
        .gpus_per_node = request.gpus_per_node,
        .gpu_models = request.gpu_models,
        .cpu_milli_per_gpu = request.cpu_milli_per_gpu,
        .memory_mib_per_gpu = request.memory_mib_per_gpu,
        .is_exclusive = request.exclusive,
        .fabric = fabric_wish(request.fabric),
        .starts_at = window.starts_at,
        .ends_at = window.booked_until,
        .packing = pool.packing == "spread" ? Packing::Spread : Packing::Pack,
        .may_share_gpus = pool.sharing == "fraction",
        .avoided_nodes = {},
        .fabric_domain = std::nullopt};
}

Decision::Decision(SharedPlacement placement, HoldResult held, Window window)
    : placement_(std::move(placement)), held_(std::move(held)), window_(window) {}

Decision::~Decision() {
    if (held_.hold != 0) {
        placement_->with([&](PlacementIndex& index) { index.drop_hold(held_.hold); });
    }
}

void Decision::commit(const std::vector<NodeStamp>& stamps) {
    if (held_.hold != 0) {
        placement_->with([&](PlacementIndex& index) { index.commit_hold(held_.hold, stamps); });
        held_.hold = 0;
    }
}

SharedDecision decide(
    const SharedPlacement& placement,
    const PoolId& pool,
    const PlacementRequest& request,
    const Window& window,
    EpochMs now
) {
    HoldResult held = placement->with([&](PlacementIndex& index) {
        return index.hold(pool.str(), request, now);
    });
    return std::make_shared<Decision>(placement, std::move(held), window);
}

Booked book(
    const method::Context& context,
    store::Transaction& tx,
    const SharedPlacement& placement,
    SharedDecision decision,
    PlacementRequest request,
    const BookFor& who
) {
    for (int attempt = 1; decision->placement(); ++attempt) {
        Marked marked = mark_nodes(tx, who, *decision->placement(), decision->window());
        if (marked.taken.empty()) {
            std::vector<Booking> bookings =
                bookings_for(context, who, *decision->placement(), decision->window());
            insert_bookings(tx, bookings);
            tx.after_commit([decision, stamps = std::move(marked.stamps)] {
                decision->commit(stamps);
            });
            return {.decision = std::move(decision), .bookings = std::move(bookings)};
        }
        if (attempt == kTries) {
            break;
        }
        auto& avoided = request.avoided_nodes;
        avoided.insert(avoided.end(), marked.taken.begin(), marked.taken.end());
        decision = decide(placement, who.pool_id, request, decision->window(), context.now());
    }
    return {.decision = std::move(decision), .bookings = {}};
}

}  // namespace compute::capacity
