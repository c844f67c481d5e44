#include "modules/capacity/reservation_view.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/reservation_rows.h"

namespace compute::capacity {
namespace {

constexpr std::size_t kNodesInAnEvent = 64;

template <class T>
void put(Json& object, const char* name, const std::optional<T>& value) {
    if (value) {
        object[name] = *value;
    }
}

// What became of the create: done once the reservation holds what was asked for, or never will.
Json operation_json(const Reservation& reservation) {
    Json operation{
        {"id", "op_" + reservation.id.str().substr(std::string_view(kReservationPrefix).size())},
        {"kind", "reservations.create"}};
    if (reservation.state == ReservationState::Pending || is_undecided(reservation.state)) {
        operation["state"] = "running";
    } else if (reservation.state == ReservationState::Failed || !reservation.placed_at) {
        operation["state"] = "failed";
        operation["reason"] =
            reservation.reason.value_or(std::string(state_name(reservation.state)));
    } else {
        operation["state"] = "succeeded";
    }
    return operation;
}

Json nodes_json(const std::vector<Booking>& bookings) {
    Json nodes = Json::array();
    for (const Booking& booking : bookings) {  // by node
        if (nodes.empty() || nodes.back().at("nodeId") != booking.node_id.str()) {
            nodes.push_back({{"nodeId", booking.node_id.str()}, {"gpus", Json::array()}});
        }
        if (booking.gpu_uuid) {
            nodes.back()["gpus"].push_back(*booking.gpu_uuid);
        }
    }
    return nodes;
}

}  // namespace

ReservationExtras read_extras(store::Transaction& tx, const Reservation& reservation) {
    ReservationExtras extras;
    if (reservation.state == ReservationState::Pending) {
        extras.queue_position = queue_position(tx, reservation);
    }
    if (reservation.state == ReservationState::Placed ||
        reservation.state == ReservationState::Active) {
        // What ended before now was lost with a node or given back; the rest ends with the claim.
        extras.bookings = bookings_of(
            tx, reservation.tenant_id, reservation.id.str(), reservation.booked_until() - 1
        );
    }
    return extras;
}

Json reservation_json(const Reservation& reservation) {
    Json out = reservation.request.json();
    out.erase("startsAt");  // the wish; what it became follows
    put(out, "requestedStart", reservation.request.starts_at);
    out["id"] = reservation.id.str();
    out["tenantId"] = reservation.tenant_id.str();
    out["state"] = state_name(reservation.state);
    out["durationSeconds"] = reservation.duration_seconds;
    out["cleanupSeconds"] = reservation.cleanup_seconds;
    out["createdBy"] = reservation.identity_id.str();
    out["createdAt"] = reservation.created_at;
    out["updatedAt"] = reservation.updated_at;
    out["version"] = reservation.version;
    put(out, "startsAt", reservation.starts_at);
    put(out, "endsAt", reservation.ends_at);
    put(out, "placeBy", reservation.place_by);
    put(out, "queuedAt", reservation.queued_at);
    put(out, "placedAt", reservation.placed_at);
    put(out, "closedAt", reservation.closed_at);
    put(out, "reason", reservation.reason);
    put(out, "confirmationId", reservation.confirmation_id);
    if (reservation.explanation) {
        out["explanation"] = Json::parse(*reservation.explanation);
    }
    if (reservation.missing_gpus > 0) {
        out["degraded"] = {{"missingGpus", reservation.missing_gpus}};
    }
    if (reservation.extending) {
        out["extending"] = {{"endsAt", reservation.extending->ends_at}};
    }
    out["operation"] = operation_json(reservation);
    return out;
}

Json reservation_json(const Reservation& reservation, const ReservationExtras& extras) {
    Json out = reservation_json(reservation);
    out["nodes"] = nodes_json(extras.bookings);
    put(out, "queuePosition", extras.queue_position);
    return out;
}

double gpu_hours(const ReservationRequest& request, std::int64_t seconds) {
    return static_cast<double>(request.gpu_count * request.milli() * seconds) /
           (3'600.0 * static_cast<double>(kWholeGpu));
}

Json reservation_attributes(const Reservation& reservation, EpochMs now) {
    const ReservationRequest& request = reservation.request;
    Json attributes{
        {"poolId", request.pool_id.str()},
        {"gpuCount", request.gpu_count},
        {"durationSeconds", reservation.duration_seconds},
        {"gpuHours", gpu_hours(request, reservation.duration_seconds)},
        {"gpuModels", request.gpu_models},
        {"exclusive", request.exclusive},
        {"startsAt", reservation.starts_at.value_or(request.starts_at.value_or(now))}};
    if (request.project_id) {
        attributes["projectId"] = request.project_id->str();
    }
    return attributes;
}

void project_reservation(
    const method::Context& context,
    store::Transaction& tx,
    const Reservation& reservation,
    const std::shared_ptr<const Json>& pending
) {
    context.authz_upsert(
        tx,
        {.resource = {kReservationType, reservation.id.str()},
         .tenant_id = reservation.tenant_id,
         .attributes =
             std::make_shared<const Json>(reservation_attributes(reservation, context.now())),
         .owner_id = reservation.identity_id.str(),
         .pending = pending}
    );
}

void publish_reservation(
    const method::Context& context,
    store::Transaction& tx,
    const Reservation& reservation,
    const std::string& type,
    const std::vector<NodeId>& nodes
) {
    Json data{
        {"tenantId", reservation.tenant_id.str()},
        {"state", state_name(reservation.state)},
        {"poolId", reservation.request.pool_id.str()},
        {"gpuCount", reservation.request.gpu_count},
        {"nodeIds", Json::array()}};
    put(data, "startsAt", reservation.starts_at);
    put(data, "endsAt", reservation.ends_at);
    put(data, "reason", reservation.reason);
    if (reservation.missing_gpus > 0) {
        data["missingGpus"] = reservation.missing_gpus;
    }
    for (std::size_t i = 0; i < std::min(nodes.size(), kNodesInAnEvent); ++i) {
        data["nodeIds"].push_back(nodes[i].str());
    }
    context.publish(
        tx,
        {.type = type,
         .tenant_id = reservation.tenant_id,
         .subject = "reservation/" + reservation.id.str(),
         .data = std::make_shared<const Json>(std::move(data))}
    );
}

outbox::EventFamily reservation_events() {
    return {
        .name = "reservation",
        .subject = "reservation/{id}",
        .module = "capacity",
        .description =
            "A reservation waits, has a place, began, was extended, lost or got back "
            "GPUs, or is over.",
        .types = {
            "reservation.pending",
            "reservation.placed",
            "reservation.active",
            "reservation.extended",
            "reservation.degraded",
            "reservation.unplaced",
            "reservation.ended",
            "reservation.released",
            "reservation.failed"}};
}

std::vector<NodeId> nodes_of(const std::vector<Booking>& bookings) {
    std::vector<NodeId> nodes;
    for (const Booking& booking : bookings) {
        nodes.push_back(booking.node_id);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

}  // namespace compute::capacity
