// Claims and bookings as rows, for tests of what counts against a quota.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/bookings.h"
#include "modules/capacity/capacity.h"
#include "modules/capacity/node_row.h"
#include "modules/capacity/quota.h"
#include "modules/capacity/reservation_rows.h"

#include "tests/support/test_plane.h"

namespace compute::capacity {

using support::TestPlane;

inline constexpr EpochMs kHour = 3'600'000;

// One claim of whole GPUs.
struct Claim {
    std::string tenant = "acme";
    std::optional<std::string> project = std::nullopt;
    std::string pool = "pool_00000000000000000000000001";
    std::string model = "H100";
    std::vector<std::string> models = {};  // what it names
    std::int64_t gpus = 1;
    std::optional<EpochMs> starts_at = std::nullopt;
    EpochMs ends_at = 0;  // without cleanup
    std::int64_t cleanup_seconds = 0;
    ReservationState state = ReservationState::Placed;
};

class Quotas : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity_module()}};
    const EpochMs now = plane.clock.now_ms();

    Json call(const std::string& method, Json input) {
        input["tenantId"] = "acme";
        return plane.call("quotas/" + method, TestPlane::root(), input);
    }
    ComputeError error_of(const std::string& method, Json input) {
        input["tenantId"] = "acme";
        return plane.error_of("quotas/" + method, TestPlane::root(), input);
    }
    Json set(Json limits, Json scope = Json::object()) {
        scope["limits"] = std::move(limits);
        return call("set", std::move(scope));
    }
    std::string project(const std::string& name) {
        const Json made = plane.call(
            "projects/create",
            TestPlane::admin_of("acme"),
            {{"tenantId", "acme"}, {"name", name}, {"idempotencyKey", "k-" + name}}
        );
        return made.at("id").get<std::string>();
    }
    std::string pool(const std::string& name) {
        const Json made = plane.call(
            "pools/create", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"name", name}}
        );
        return made.at("id").get<std::string>();
    }

    // Writes the claim's rows without a test, one booking per GPU.
    std::string insert(store::Transaction& tx, const Claim& claim) {
        const std::string id = "rsv_" + std::to_string(1000 + next_++);
        Reservation row;
        row.id = ReservationId(id);
        row.tenant_id = TenantId(claim.tenant);
        row.identity_id = IdentityId("tester");
        row.pool_tenant_id = TenantId("acme");
        row.state = claim.state;
        row.request.pool_id = PoolId(claim.pool);
        if (claim.project) {
            row.request.project_id = ProjectId(*claim.project);
        }
        row.request.gpu_count = claim.gpus;
        row.request.gpu_models = claim.models;
        row.request.starts_at = claim.starts_at;
        row.cleanup_seconds = claim.cleanup_seconds;
        row.duration_seconds = (claim.ends_at - claim.starts_at.value_or(now)) / 1000;
        row.request.duration_seconds = row.duration_seconds;
        const bool is_booked =
            claim.state == ReservationState::Placed || claim.state == ReservationState::Active;
        if (is_booked) {
            row.starts_at = claim.starts_at.value_or(now);
            row.ends_at = claim.ends_at;
        }
        EXPECT_TRUE(insert_reservation(tx, row));
        if (is_booked) {
            EXPECT_TRUE(update_reservation(tx, row));  // a new row has no place yet
            insert_bookings(tx, bookings_for(claim, id));
        }
        return id;
    }
    std::string insert(const Claim& claim) {
        return plane.database().write([&](store::Transaction& tx) { return insert(tx, claim); });
    }
    // The same behind the test, in one transaction, as a create does.
    void claim(const Claim& claim) {
        plane.database().write([&](store::Transaction& tx) {
            check_quota(tx, request_of(claim), now);
            insert(tx, claim);
        });
    }
    std::optional<Json> refusal_of(const Claim& asked) {
        try {
            claim(asked);
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::QuotaExceeded) << error.message();
            return *error.details();
        }
        return std::nullopt;
    }

    QuotaRequest request_of(const Claim& claim) const {
        QuotaRequest request;
        request.tenant_id = TenantId(claim.tenant);
        if (claim.project) {
            request.project_id = ProjectId(*claim.project);
        }
        request.pool_id = PoolId(claim.pool);
        request.starts_at = claim.starts_at;
        request.duration_seconds = (claim.ends_at - claim.starts_at.value_or(now)) / 1000;
        request.cleanup_seconds = claim.cleanup_seconds;
        request.gpu_milli = claim.gpus * kWholeGpu;
        if (claim.state == ReservationState::Placed) {
            request.models[claim.model] = request.gpu_milli;
        }
        for (const std::string& model : claim.models) {
            request.models[model] = request.gpu_milli;
        }
        return request;
    }

private:
    std::vector<Booking> bookings_for(const Claim& claim, const std::string& holder) {
        std::vector<Booking> bookings;
        for (std::int64_t gpu = 0; gpu < claim.gpus; ++gpu) {
            Booking booking;
            booking.id = "bkg_" + std::to_string(next_booking_++);
            booking.tenant_id = TenantId(claim.tenant);
            booking.pool_id = PoolId(claim.pool);
            booking.node_id = NodeId("node_" + claim.model);
            booking.gpu_uuid = claim.model + "-" + booking.id;
            booking.milli = kWholeGpu;
            booking.starts_at = claim.starts_at.value_or(now);
            booking.ends_at = claim.ends_at + claim.cleanup_seconds * 1000;
            booking.holder_type = kReservationType;
            booking.holder_id = holder;
            bookings.push_back(std::move(booking));
        }
        return bookings;
    }

    std::atomic<int> next_{0};
    std::atomic<int> next_booking_{0};
};

}  // namespace compute::capacity
