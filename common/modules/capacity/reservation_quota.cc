#include "modules/capacity/reservation_quota.h"

namespace compute::capacity {
namespace {

// Found by the cards' names, which are unique; the caller has chosen them in a pool of its tenant's
// or shared with it.
constexpr store::Sql kModels(
    "select g.model, count(*) from node_gpus g join json_each($1) c on c.value = g.uuid "
    "where g.tenant_id = $2 group by g.model",
    "select g.model, count(*) from node_gpus g where g.uuid = any(cast($1 as text[])) "
    "and g.tenant_id = $2 group by g.model"
);

QuotaRequest quota_request(const Reservation& reservation) {
    const ReservationRequest& request = reservation.request;
    QuotaRequest out;
    out.tenant_id = reservation.tenant_id;
    out.project_id = request.project_id;
    out.pool_id = request.pool_id;
    out.starts_at = request.starts_at;
    out.duration_seconds = reservation.duration_seconds;
    out.cleanup_seconds = reservation.cleanup_seconds;
    out.gpu_milli = request.gpu_count * request.milli();
    for (const std::string& model : request.gpu_models) {
        out.models[model] = out.gpu_milli;
    }
    return out;
}

// A request that names one model needs no look.
void set_models(
    store::Transaction& tx,
    const Reservation& reservation,
    const store::TextList& gpus,
    QuotaRequest& out
) {
    if (reservation.request.gpu_models.size() == 1) {
        return;
    }
    out.models.clear();
    for (const store::Row& row : tx.query(kModels, {gpus, reservation.pool_tenant_id})) {
        out.models[row.get_text(0)] = row.get_int(1) * reservation.request.milli();
    }
}

}  // namespace

QuotaRequest quota_of_pending(const Reservation& reservation) {
    return quota_request(reservation);
}

QuotaRequest quota_of_placement(
    store::Transaction& tx,
    const Reservation& reservation,
    const Window& window,
    const Placement& placement
) {
    QuotaRequest out = quota_request(reservation);
    out.starts_at = window.starts_at;
    store::TextList gpus;
    for (const PlannedBooking& booking : placement.bookings) {
        if (!booking.gpu_uuid.empty()) {
            gpus.emplace_back(booking.gpu_uuid);
        }
    }
    set_models(tx, reservation, gpus, out);
    return out;
}

QuotaRequest quota_of_extend(
    store::Transaction& tx,
    const Reservation& reservation,
    const std::vector<Booking>& held,
    EpochMs ends_at
) {
    QuotaRequest out = quota_request(reservation);
    out.starts_at = *reservation.ends_at;
    out.duration_seconds = (ends_at - *reservation.ends_at) / 1000;
    out.extends = reservation.id.str();
    store::TextList gpus;
    for (const Booking& booking : held) {
        if (booking.gpu_uuid) {
            gpus.emplace_back(*booking.gpu_uuid);
        }
    }
    set_models(tx, reservation, gpus, out);
    return out;
}

}  // namespace compute::capacity
