#include "modules/capacity/reservation.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace compute::capacity {
namespace {

constexpr std::array<std::pair<ReservationState, std::string_view>, 9> kNames{{
    {ReservationState::Draft, "draft"},
    {ReservationState::AwaitingConfirmation, "awaiting-confirmation"},
    {ReservationState::Denied, "denied"},
    {ReservationState::Pending, "pending"},
    {ReservationState::Placed, "placed"},
    {ReservationState::Active, "active"},
    {ReservationState::Ended, "ended"},
    {ReservationState::Released, "released"},
    {ReservationState::Failed, "failed"},
}};

template <class T>
std::optional<T> find_member(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? std::nullopt : std::optional(found->get<T>());
}

template <class T>
void put(Json& object, const char* name, const std::optional<T>& value) {
    if (value) {
        object[name] = *value;
    }
}

std::optional<EpochMs> timer_of_state(const Reservation& reservation) {
    switch (reservation.state) {
        case ReservationState::Draft:
            return reservation.updated_at + kDraftLifeMs;
        case ReservationState::AwaitingConfirmation:
            // A confirmation without an end waits as long as a refusal is kept.
            return reservation.confirmation_expires_at
                       ? *reservation.confirmation_expires_at + kAwaitingGraceMs
                       : reservation.updated_at + kDeniedLifeMs;
        case ReservationState::Denied:
            return reservation.updated_at + kDeniedLifeMs;
        case ReservationState::Pending:
            return reservation.place_by;
        case ReservationState::Placed:
            return reservation.starts_at;
        case ReservationState::Active:
            return reservation.ends_at;
        case ReservationState::Ended:
        case ReservationState::Released:
        case ReservationState::Failed:
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

std::string_view state_name(ReservationState state) {
    return std::find_if(
               kNames.begin(), kNames.end(), [&](const auto& row) { return row.first == state; }
    )->second;
}

ReservationState state_of_name(std::string_view name) {
    const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& row) {
        return row.second == name;
    });
    if (found == kNames.end()) {
        throw internal_error("reservation state " + std::string(name));
    }
    return found->first;
}

bool is_undecided(ReservationState state) {
    return state == ReservationState::Draft || state == ReservationState::AwaitingConfirmation ||
           state == ReservationState::Denied;
}

bool is_terminal(ReservationState state) {
    return state == ReservationState::Ended || state == ReservationState::Released ||
           state == ReservationState::Failed;
}

Json ReservationRequest::json() const {
    Json out{
        {"poolId", pool_id.str()},
        {"gpuCount", gpu_count},
        {"durationSeconds", duration_seconds},
        {"exclusive", exclusive},
        {"fabric", fabric}};
    if (project_id) {
        out["projectId"] = project_id->str();
    }
    put(out, "name", name);
    put(out, "gpusPerNode", gpus_per_node);
    if (!gpu_models.empty()) {
        out["gpuModels"] = gpu_models;
    }
    put(out, "gpuMilli", gpu_milli);
    put(out, "startsAt", starts_at);
    put(out, "cpuMilliPerGpu", cpu_milli_per_gpu);
    put(out, "memoryMibPerGpu", memory_mib_per_gpu);
    put(out, "placeBy", place_by);
    return out;
}

ReservationRequest ReservationRequest::decode(const Json& value) {
    ReservationRequest request;
    request.pool_id = PoolId(value.at("poolId").get<std::string>());
    if (const auto project = find_member<std::string>(value, "projectId")) {
        request.project_id = ProjectId(*project);
    }
    request.name = find_member<std::string>(value, "name");
    request.gpu_count = value.at("gpuCount").get<std::int64_t>();
    request.gpus_per_node = find_member<std::int64_t>(value, "gpusPerNode");
    request.gpu_models = find_member<std::vector<std::string>>(value, "gpuModels")
                             .value_or(std::vector<std::string>());
    request.gpu_milli = find_member<std::int64_t>(value, "gpuMilli");
    request.starts_at = find_member<EpochMs>(value, "startsAt");
    request.duration_seconds = value.at("durationSeconds").get<std::int64_t>();
    request.cpu_milli_per_gpu = find_member<std::int64_t>(value, "cpuMilliPerGpu");
    request.memory_mib_per_gpu = find_member<std::int64_t>(value, "memoryMibPerGpu");
    request.exclusive = value.at("exclusive").get<bool>();
    request.fabric = value.at("fabric").get<std::string>();
    request.place_by = find_member<EpochMs>(value, "placeBy");
    return request;
}

std::optional<EpochMs> next_timer(const Reservation& reservation) {
    std::optional<EpochMs> at = timer_of_state(reservation);
    if (reservation.extending) {
        const EpochMs left_behind = reservation.extending->staged_at + kStagedLifeMs;
        at = at ? std::min(*at, left_behind) : left_behind;
    }
    return at;
}

}  // namespace compute::capacity
