// A reservation: GPUs of a pool for a window of time. From the first call on it is a row, as a
// draft that holds nothing; once allowed it is pending or placed, then active, and ends in a
// terminal state. What it holds is in its bookings (bookings.h) and nowhere else.
//
//   draft, awaiting-confirmation, denied      asked for, holds nothing, is not shown in lists
//   pending                                   allowed, waits for room; charged to quotas, holds
//   nothing placed, active                            holds its bookings, before and after its
//   start ended, released, failed                   terminal
//
// A row changes only from the version and state that were read (`update_reservation`), so that of
// two who act at once (an expiry and an extend, two daemons' timers) one does and the other looks
// again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/clock.h"
#include "core/ids.h"
#include "modules/capacity/bookings.h"
#include "modules/capacity/pool.h"
#include "modules/capacity/project.h"
#include "store/database.h"

namespace compute::capacity {

using ReservationId = StrongId<struct ReservationTag>;

inline constexpr const char* kReservationType = "reservation";
inline constexpr const char* kReservationPrefix = "rsv_";

enum class ReservationState {
    Draft,
    AwaitingConfirmation,
    Denied,
    Pending,
    Placed,
    Active,
    Ended,
    Released,
    Failed,
};
[[nodiscard]] std::string_view state_name(ReservationState state);
[[nodiscard]] ReservationState state_of_name(std::string_view name);
// Draft, awaiting-confirmation, denied: not decided in its favour.
[[nodiscard]] bool is_undecided(ReservationState state);
[[nodiscard]] bool is_terminal(ReservationState state);

// What is asked for. The members that are absent take the pool's or the node's measure.
struct ReservationRequest {
    PoolId pool_id;
    std::optional<ProjectId> project_id;
    std::optional<std::string> name;
    std::int64_t gpu_count = 0;
    std::optional<std::int64_t> gpus_per_node;
    std::vector<std::string> gpu_models;  // empty: any
    std::optional<std::int64_t> gpu_milli;
    std::optional<EpochMs> starts_at;  // absent: as soon as possible
    std::int64_t duration_seconds = 0;
    std::optional<std::int64_t> cpu_milli_per_gpu;
    std::optional<std::int64_t> memory_mib_per_gpu;
    bool exclusive = false;
    std::string fabric = "prefer";  // none | prefer | require
    std::optional<EpochMs> place_by;

    [[nodiscard]] Json json() const;
    static ReservationRequest decode(const Json& value);

    [[nodiscard]] std::int64_t milli() const { return gpu_milli.value_or(kWholeGpu); }
    [[nodiscard]] EpochMs duration_ms() const { return duration_seconds * 1000; }
};

// An extend that was asked for and is being decided.
struct StagedExtend {
    IdentityId identity_id;
    std::string key;
    EpochMs ends_at = 0;
    EpochMs staged_at = 0;
};

struct Reservation {
    ReservationId id;
    TenantId tenant_id;
    IdentityId identity_id;
    TenantId pool_tenant_id;  // who owns the pool and its nodes
    ReservationState state = ReservationState::Draft;
    ReservationRequest request;
    std::string request_hash;
    std::int64_t duration_seconds = 0;  // with what extends added
    std::int64_t cleanup_seconds = 0;   // the pool's when it was booked
    std::optional<EpochMs> starts_at;
    std::optional<EpochMs> ends_at;
    std::optional<EpochMs> place_by;
    std::optional<EpochMs> queued_at;   // when it was allowed: its turn in the queue
    std::optional<EpochMs> skipped_at;  // since when later claims pass it
    std::optional<EpochMs> placed_at;
    std::optional<EpochMs> closed_at;
    std::optional<std::string> reason;       // of a terminal state or of waiting
    std::optional<std::string> explanation;  // JSON: why the last attempt found no room
    std::int64_t missing_gpus = 0;           // lost with nodes and not replaced
    std::optional<StagedExtend> extending;
    std::optional<std::string> confirmation_id;
    std::optional<EpochMs> confirmation_expires_at;
    std::int64_t version = 1;
    EpochMs created_at = 0;
    EpochMs updated_at = 0;

    [[nodiscard]] EpochMs booked_until() const {
        return ends_at.value_or(0) + cleanup_seconds * 1000;
    }
};

// When somebody must look at the row again: an age limit of what was never decided, the end of the
// wait, start, end, or a staged extend left behind. nullopt: never.
[[nodiscard]] std::optional<EpochMs> next_timer(const Reservation& reservation);

inline constexpr EpochMs kDraftLifeMs = 24LL * 3'600'000;
inline constexpr EpochMs kDeniedLifeMs = 7 * 24LL * 3'600'000;
inline constexpr EpochMs kAwaitingGraceMs = 3'600'000;
inline constexpr EpochMs kStagedLifeMs = 10LL * 60'000;

}  // namespace compute::capacity
