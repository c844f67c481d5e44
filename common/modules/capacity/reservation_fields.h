// What the reservations methods take, and the rules about it, in one place so that create and
// preview cannot drift apart.
#pragma once

#include <optional>
#include <string>

#include "modules/capacity/pool.h"
#include "modules/capacity/reservation.h"
#include "schema/manifest.h"

namespace compute::capacity {

inline constexpr std::int64_t kMaxGpus = 8192;
inline constexpr std::int64_t kMaxGpusPerNode = 16;
inline constexpr std::int64_t kMaxModels = 8;
inline constexpr EpochMs kPastGraceMs = 60'000;                  // how late startsAt may arrive
inline constexpr EpochMs kMaxAheadMs = 365 * 24LL * 3'600'000;   // of startsAt
inline constexpr EpochMs kDefaultPatienceMs = 24LL * 3'600'000;  // placeBy when nothing says more
inline constexpr EpochMs kMaxTimeMs = 253'402'300'799'999;       // the end of year 9999
inline constexpr std::int64_t kMinDurationSeconds = 60;
inline constexpr std::int64_t kMaxDurationSeconds = 15'724'800;

// Input of create and preview.
struct ReservationInput : ReservationRequest {
    TenantId tenant_id;
    std::string idempotency_key;  // create only
    std::optional<Json> wait;     // create only; the envelope reads it
};
[[nodiscard]] schema::Shape reservation_id_shape();
[[nodiscard]] schema::Shape time_shape();
// With key and wait, or without.
[[nodiscard]] schema::Manifest<ReservationInput> create_manifest();
[[nodiscard]] schema::Manifest<ReservationInput> preview_manifest();

// The input of the methods that name one reservation and nothing else.
struct ReservationIdInput {
    TenantId tenant_id;
    ReservationId reservation_id;
};
[[nodiscard]] schema::Manifest<ReservationIdInput> reservation_manifest();

// The rules that depend on the hour and on the pool; INVALID_INPUT naming the field. They are
// looked at in every transaction that goes on with the request: both may have changed.
void check_times(const ReservationRequest& request, EpochMs now);
void check_against_pool(const ReservationRequest& request, const Pool& pool);

}  // namespace compute::capacity
