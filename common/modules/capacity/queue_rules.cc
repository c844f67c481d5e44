#include "modules/capacity/queue_rules.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace compute::capacity {
namespace {

// Found by the pool, which the caller has looked up for its tenant; the claims may be any tenant's.
constexpr store::Sql kAnyWaiting(
    "select count(*) from (select 1 from reservations where pool_id = $1 and state = 'pending' "
    "limit 1) as waiting"
);
constexpr store::Sql kBarriers(
    "select request from reservations where pool_id = $1 and state = 'pending' and skipped_at <= "
    "$2"
);

bool overlaps(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return a.empty() || b.empty() || std::any_of(a.begin(), a.end(), [&](const std::string& name) {
               return std::find(b.begin(), b.end(), name) != b.end();
           });
}

}  // namespace

void QueueRules::add_waiting(const Reservation& claim) {
    if (is_strict_) {
        is_closed_ = true;
        return;
    }
    if (!claim.skipped_at || *claim.skipped_at + kBarrierAfterMs > now_) {
        return;
    }
    const std::vector<std::string>& models = claim.request.gpu_models;
    is_closed_ = is_closed_ || models.empty();  // it could use any
    barred_.insert(barred_.end(), models.begin(), models.end());
}

std::optional<std::vector<std::string>> QueueRules::models_left(
    const ReservationRequest& request, const std::vector<std::string>& pool_models
) const {
    if (is_closed_) {
        return std::nullopt;
    }
    if (barred_.empty()) {
        return request.gpu_models;
    }
    std::vector<std::string> left = request.gpu_models.empty() ? pool_models : request.gpu_models;
    std::erase_if(left, [&](const std::string& model) {
        return std::find(barred_.begin(), barred_.end(), model) != barred_.end();
    });
    return left.empty() ? std::nullopt : std::optional(std::move(left));
}

bool has_barrier(
    store::Transaction& tx, const Pool& pool, const ReservationRequest& request, EpochMs now
) {
    if (pool.settings.queue == "strict") {
        return tx.get_row(kAnyWaiting, {pool.id}).get_int(0) > 0;
    }
    for (const store::Row& row : tx.query(kBarriers, {pool.id, now - kBarrierAfterMs})) {
        const auto other = ReservationRequest::decode(Json::parse(row.get_text(0)));
        if (overlaps(other.gpu_models, request.gpu_models)) {
            return true;
        }
    }
    return false;
}

}  // namespace compute::capacity
