// What others see of a reservation: the answer, the authz projection, the events.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "method/context.h"
#include "modules/capacity/reservation.h"

namespace compute::capacity {

// What stands beside the row in an answer about one reservation.
struct ReservationExtras {
    std::vector<Booking> bookings;
    std::optional<std::int64_t> queue_position;
};
[[nodiscard]] ReservationExtras read_extras(store::Transaction& tx, const Reservation& reservation);

// Of lists; without the nodes.
[[nodiscard]] Json reservation_json(const Reservation& reservation);
[[nodiscard]] Json reservation_json(
    const Reservation& reservation, const ReservationExtras& extras
);

// The attributes that policies decide on. `now` stands for a start as soon as possible.
[[nodiscard]] Json reservation_attributes(const Reservation& reservation, EpochMs now);
// GPU hours of `seconds` of it.
[[nodiscard]] double gpu_hours(const ReservationRequest& request, std::int64_t seconds);

// Writes the projection row, with `pending` over it or without.
void project_reservation(
    const method::Context& context,
    store::Transaction& tx,
    const Reservation& reservation,
    const std::shared_ptr<const Json>& pending = nullptr
);

// Publishes `type`; `nodes` are those it holds, or held.
void publish_reservation(
    const method::Context& context,
    store::Transaction& tx,
    const Reservation& reservation,
    const std::string& type,
    const std::vector<NodeId>& nodes
);
[[nodiscard]] outbox::EventFamily reservation_events();
[[nodiscard]] std::vector<NodeId> nodes_of(const std::vector<Booking>& bookings);

}  // namespace compute::capacity
