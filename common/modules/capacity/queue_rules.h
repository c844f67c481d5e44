// Who may pass whom in a pool's queue. In a strict pool nobody passes. In a fill pool later claims
// pass, but a claim that has been passed for ten minutes bars the models it could use, so that it
// does not starve.
#pragma once

#include <string>
#include <vector>

#include "modules/capacity/pool.h"
#include "modules/capacity/reservation.h"

namespace compute::capacity {

inline constexpr EpochMs kBarrierAfterMs = 10LL * 60'000;

// What the claims before it leave to a claim.
class QueueRules {
public:
    QueueRules(std::string queue, EpochMs now) : is_strict_(queue == "strict"), now_(now) {}

    // A claim before the ones to come could not be placed.
    void add_waiting(const Reservation& claim);
    // Whether nothing is left to anybody.
    [[nodiscard]] bool is_closed() const { return is_closed_; }
    // The models that `request` may still use; nullopt: none. An empty list means any model, as in
    // a request; that is left only while nothing is barred.
    [[nodiscard]] std::optional<std::vector<std::string>> models_left(
        const ReservationRequest& request, const std::vector<std::string>& pool_models
    ) const;

private:
    bool is_strict_;
    EpochMs now_;
    bool is_closed_ = false;
    std::vector<std::string> barred_;
};

// The claims that a new claim must not pass, by the rules above: all that wait in a strict pool,
// else those that have become barriers.
[[nodiscard]] bool has_barrier(
    store::Transaction& tx, const Pool& pool, const ReservationRequest& request, EpochMs now
);

}  // namespace compute::capacity
