#include "modules/capacity/reservation_fields.h"

#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

constexpr const char* kModelPattern = "^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$";
constexpr std::int64_t kMinMilli = 50;
constexpr std::int64_t kMaxCpuMilli = 1'024'000;
constexpr std::int64_t kMaxMemoryMib = 4'194'304;

void check_shape(const ReservationInput& input) {
    if (input.gpus_per_node && input.gpu_count % *input.gpus_per_node != 0) {
        throw invalid_input("gpusPerNode: must divide gpuCount");
    }
    if (input.gpu_milli && input.gpu_count != 1) {
        throw invalid_input("gpuMilli: only with gpuCount 1");
    }
    if (input.gpu_milli && input.exclusive) {
        throw invalid_input("gpuMilli: not together with exclusive");
    }
}

schema::Manifest<ReservationInput> request_manifest() {
    using Input = ReservationInput;
    schema::Manifest<Input> manifest;
    manifest.required("tenantId", &Input::tenant_id, schema::tenant_id());
    manifest.required<PoolId>("poolId", &Input::pool_id, pool_id_shape());
    manifest.optional<ProjectId>("projectId", &Input::project_id, project_id_shape());
    manifest.optional<std::string>("name", &Input::name, schema::name());
    manifest.required<std::int64_t>(
        "gpuCount", &Input::gpu_count, schema::integer({.min = 1, .max = kMaxGpus})
    );
    manifest.optional<std::int64_t>(
        "gpusPerNode",
        &Input::gpus_per_node,
        schema::integer({.min = 1, .max = kMaxGpusPerNode}),
        "exactly so many on each node; must divide gpuCount; absent: fewest nodes"
    );
    manifest.defaulted<std::vector<std::string>>(
        "gpuModels",
        &Input::gpu_models,
        schema::array(
            schema::string({.pattern = kModelPattern, .min_length = 1, .max_length = 64}),
            {.min_items = 0, .max_items = kMaxModels, .unique = true}
        ),
        "any of these; empty or absent: any model"
    );
    manifest.optional<std::int64_t>(
        "gpuMilli",
        &Input::gpu_milli,
        schema::integer({.min = kMinMilli, .max = kWholeGpu}),
        "a share of one GPU, in thousandths; only in pools with sharing fraction"
    );
    manifest.optional<EpochMs>(
        "startsAt", &Input::starts_at, time_shape(), "epoch ms; absent: as soon as possible"
    );
    manifest.required<std::int64_t>(
        "durationSeconds",
        &Input::duration_seconds,
        schema::integer({.min = kMinDurationSeconds, .max = kMaxDurationSeconds}),
        "at most the pool's maxDurationSeconds"
    );
    manifest.optional<std::int64_t>(
        "cpuMilliPerGpu",
        &Input::cpu_milli_per_gpu,
        schema::integer({.min = 0, .max = kMaxCpuMilli}),
        "absent: the GPU's share of its node"
    );
    manifest.optional<std::int64_t>(
        "memoryMibPerGpu",
        &Input::memory_mib_per_gpu,
        schema::integer({.min = 0, .max = kMaxMemoryMib}),
        "absent: the GPU's share of its node"
    );
    manifest.defaulted<bool>(
        "exclusive", &Input::exclusive, schema::boolean(), "whole nodes; default false"
    );
    manifest.defaulted<std::string>(
        "fabric",
        &Input::fabric,
        schema::one_of({"none", "prefer", "require"}),
        "one fabric domain for all nodes; default prefer"
    );
    manifest.optional<EpochMs>(
        "placeBy",
        &Input::place_by,
        time_shape(),
        "epoch ms; fails when not placed by then; default startsAt, or 24 hours from now"
    );
    return manifest;
}

}  // namespace

schema::Shape reservation_id_shape() {
    return schema::id_of(kReservationPrefix);
}

schema::Shape time_shape() {
    return schema::integer({.min = 0, .max = kMaxTimeMs});
}

schema::Manifest<ReservationInput> create_manifest() {
    schema::Manifest<ReservationInput> manifest = request_manifest();
    manifest.required(
        "idempotencyKey",
        &ReservationInput::idempotency_key,
        schema::idempotency_key(),
        "repeating the call with it answers the same reservation"
    );
    manifest.optional(
        "wait", &ReservationInput::wait, schema::wait(), "answers once it is placed or has failed"
    );
    manifest.rule(check_shape);
    return manifest;
}

schema::Manifest<ReservationInput> preview_manifest() {
    schema::Manifest<ReservationInput> manifest = request_manifest();
    manifest.rule(check_shape);
    return manifest;
}

schema::Manifest<ReservationIdInput> reservation_manifest() {
    schema::Manifest<ReservationIdInput> manifest;
    manifest.required("tenantId", &ReservationIdInput::tenant_id, schema::tenant_id())
        .required("reservationId", &ReservationIdInput::reservation_id, reservation_id_shape());
    return manifest;
}

void check_times(const ReservationRequest& request, EpochMs now) {
    if (request.starts_at && *request.starts_at < now - kPastGraceMs) {
        throw invalid_input("startsAt: is more than 60 seconds in the past");
    }
    if (request.starts_at && *request.starts_at > now + kMaxAheadMs) {
        throw invalid_input("startsAt: must be within 365 days from now");
    }
    if (request.place_by && *request.place_by <= now) {
        throw invalid_input("placeBy: must be in the future");
    }
    if (request.place_by && *request.place_by > now + kMaxAheadMs) {
        throw invalid_input("placeBy: must be within 365 days from now");
    }
    if (request.place_by && request.starts_at && *request.place_by > *request.starts_at) {
        throw invalid_input("placeBy: must not be after startsAt");
    }
}

void check_against_pool(const ReservationRequest& request, const Pool& pool) {
    if (request.duration_seconds > pool.settings.max_duration_seconds) {
        throw invalid_input(
            "durationSeconds: must be at most " +
            std::to_string(pool.settings.max_duration_seconds) + " in this pool"
        );
    }
    if (!request.gpu_milli) {
        return;
    }
    if (pool.settings.sharing != "fraction") {
        throw invalid_input("gpuMilli: the pool gives whole GPUs only");
    }
    if (*request.gpu_milli % pool.settings.fraction_step_milli != 0) {
        throw invalid_input(
            "gpuMilli: must be a multiple of " + std::to_string(pool.settings.fraction_step_milli) +
            " in this pool"
        );
    }
}

}  // namespace compute::capacity
