#include <atomic>
#include <thread>

#include "tests/unit/modules/capacity/claims_lab.h"

namespace compute::capacity {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr EpochMs kCleanup = 60'000;

class ClaimsExtend : public ClaimsLab {
protected:
    const std::string pool = create_pool();
    const NodeId node = add_node(pool, {.name = "n1"});

    Json extend_input(const Json& reservation, EpochMs ends_at, const std::string& key = "x") {
        return {
            {"reservationId", reservation.at("id")}, {"endsAt", ends_at}, {"idempotencyKey", key}};
    }
    Json extend(const Json& reservation, EpochMs ends_at, const std::string& key = "x") {
        return call("extend", extend_input(reservation, ends_at, key));
    }
    Json attributes(const Json& reservation) {
        return plane.attributes_of("reservation", reservation.at("id"));
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, ClaimsExtend, support::both_engines(), support::engine_name);

TEST_P(ClaimsExtend, MovesTheEndOfTheSameAtoms) {
    const Json made = reserve(asks(pool, 4));
    const EpochMs end = made.at("endsAt").get<EpochMs>() + kHour;

    const Json longer = extend(made, end);

    EXPECT_EQ(longer.at("endsAt"), end);
    EXPECT_EQ(longer.at("durationSeconds"), 2 * 3'600);
    EXPECT_EQ(longer.at("nodes"), made.at("nodes"));
    ASSERT_THAT(bookings(made), SizeIs(4));
    EXPECT_EQ(bookings(made)[0].ends_at, end + kCleanup);
    EXPECT_EQ(attributes(made).at("durationSeconds"), 2 * 3'600);
    EXPECT_FALSE(attributes(made).contains("endsAt"));
    EXPECT_THAT(events(), Contains("reservation.extended"));
}

TEST_P(ClaimsExtend, M90_ARefusalTakesBackWhatWasStaged) {
    const Json made = reserve(asks(pool, 4));
    Json seen;
    plane.iam.set_policy([&](const iam::Session&, const iam::Question& question) {
        if (question.action == "compute:reservations:extend") {
            seen = plane.attributes_of("reservation", question.resource.id);
            return seen.at("durationSeconds") <= 2 * 3'600;
        }
        return true;
    });
    const EpochMs end = made.at("endsAt");

    const auto refused = error_of("extend", extend_input(made, end + kHour + 1'000, "a"));
    const Json after = attributes(made);
    const Json longer = extend(made, end + kHour, "b");

    EXPECT_EQ(refused.code(), ErrorCode::AccessDenied);
    EXPECT_EQ(after.at("durationSeconds"), 3'600);  // what was staged is gone
    EXPECT_FALSE(get(made).contains("extending"));
    EXPECT_EQ(longer.at("endsAt"), end + kHour);
    EXPECT_EQ(seen.at("gpuCount"), 4);
    EXPECT_EQ(seen.at("gpuHours"), 8);
    EXPECT_EQ(seen.at("endsAt"), end + kHour);
}

// The next holder of the atoms stands in the way: nothing changes, and the answer says how far.
TEST_P(ClaimsExtend, M87_M90_AFailureTakesBackWhatWasStaged) {
    const Json made = reserve(asks(pool, 8));
    const EpochMs end = made.at("endsAt");
    const EpochMs next = end + 3 * kHour;
    const Json after = reserve(asks(pool, 8, 1, {{"startsAt", next}}));
    ASSERT_EQ(after.at("state"), "placed");
    const Json before = attributes(made);

    const auto refused = error_of("extend", extend_input(made, next - kCleanup + 1'000, "a"));
    const Json attributes_then = attributes(made);
    const Json longer = extend(made, next - kCleanup, "b");

    EXPECT_EQ(refused.code(), ErrorCode::Conflict);
    EXPECT_EQ(refused.details()->at("reason"), "no-capacity");
    EXPECT_EQ(refused.details()->at("maxEndsAt"), next - kCleanup);
    EXPECT_EQ(attributes_then, before);
    EXPECT_EQ(longer.at("endsAt"), next - kCleanup);
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsExtend, ARetryExtendsOnce) {
    const Json made = reserve(asks(pool, 1));
    const EpochMs end = made.at("endsAt").get<EpochMs>() + kHour;
    const Json longer = extend(made, end);
    plane.iam.clear();

    const Json again = extend(made, end);
    const auto other = error_of("extend", extend_input(made, end + kHour));

    EXPECT_EQ(again, longer);
    EXPECT_EQ(plane.iam.count("require"), 0);
    EXPECT_EQ(other.details()->at("reason"), "idempotency-key-reused");
}

TEST_P(ClaimsExtend, OnlyOneAtATime) {
    const Json made = reserve(asks(pool, 1));
    const EpochMs end = made.at("endsAt");
    ComputeError second(ErrorCode::InternalError, "none");
    plane.iam.set_policy([&](const iam::Session&, const iam::Question& question) {
        if (question.action == "compute:reservations:extend" &&
            second.code() == ErrorCode::InternalError) {
            second = error_of("extend", extend_input(made, end + 2 * kHour, "second"));
        }
        return true;
    });

    const Json longer = extend(made, end + kHour, "first");

    EXPECT_EQ(second.code(), ErrorCode::Conflict);
    EXPECT_EQ(second.details()->at("reason"), "extend-pending");
    EXPECT_EQ(longer.at("endsAt"), end + kHour);
}

// An IAM that gives no answer, or a process that dies, leaves what was staged behind.
TEST_P(ClaimsExtend, WhatIsLeftStagedIsClearedAfterTenMinutes) {
    const Json made = reserve(asks(pool, 1, 5));
    const EpochMs end = made.at("endsAt");
    plane.iam.set_policy([](const iam::Session&, const iam::Question& question) {
        if (question.action == "compute:reservations:extend") {
            throw ComputeError(ErrorCode::IamUnavailable, "no answer");
        }
        return true;
    });
    EXPECT_EQ(
        error_of("extend", extend_input(made, end + kHour)).code(), ErrorCode::IamUnavailable
    );
    plane.iam.set_policy({});

    run_timers();
    const Json early = get(made);
    const auto other = error_of("extend", extend_input(made, end + 2 * kHour, "other"));
    advance(10 * 60'000);
    run_timers();

    EXPECT_TRUE(early.contains("extending"));
    EXPECT_EQ(other.details()->at("reason"), "extend-pending");
    EXPECT_FALSE(get(made).contains("extending"));
    EXPECT_EQ(attributes(made).at("durationSeconds"), 5 * 3'600);
    EXPECT_EQ(extend(made, end + 2 * kHour, "new").at("endsAt"), end + 2 * kHour);
}

TEST_P(ClaimsExtend, ARetryGoesOnFromWhatIsStaged) {
    const Json made = reserve(asks(pool, 1, 5));
    const EpochMs end = made.at("endsAt");
    plane.iam.set_outage(ComputeError(ErrorCode::IamUnavailable, "no answer"));
    (void)error_of("extend", extend_input(made, end + kHour));
    plane.iam.set_outage(std::nullopt);

    EXPECT_EQ(extend(made, end + kHour).at("endsAt"), end + kHour);
}

TEST_P(ClaimsExtend, RefusesWhatIsNoExtend) {
    const Json made = reserve(asks(pool, 1));
    const EpochMs end = made.at("endsAt");
    const Json waiting = reserve(asks(pool, 8));
    ASSERT_EQ(waiting.at("state"), "pending");

    EXPECT_EQ(error_of("extend", extend_input(made, end, "a")).code(), ErrorCode::InvalidInput);
    EXPECT_EQ(error_of("extend", extend_input(made, end + 1, "b")).code(), ErrorCode::InvalidInput);
    EXPECT_EQ(
        error_of("extend", extend_input(made, end + 30 * 24 * kHour, "c")).code(),
        ErrorCode::InvalidInput
    );
    EXPECT_EQ(
        error_of("extend", extend_input(waiting, end + kHour, "d")).code(), ErrorCode::InvalidState
    );
    advance(kHour);
    EXPECT_EQ(
        error_of("extend", extend_input(made, end + kHour, "e")).code(), ErrorCode::InvalidState
    );
}

TEST_P(ClaimsExtend, AnAgentsExtendIsHeldAndBoundToItsRequest) {
    const Json made = reserve(asks(pool, 1));
    const EpochMs end = made.at("endsAt");
    const std::string agent = TestPlane::agent_of("acme");
    plane.iam.set_policy([](const iam::Session& session, const iam::Question&) {
        return !session.caller.is_delegated();
    });
    plane.iam.set_confirmations([&](const auto&, const auto&, auto, auto) {
        return iam::Confirmation{.id = "cnf_1", .expires_at = plane.clock.now_ms() + kHour};
    });
    Json input = extend_input(made, end + kHour, "k");
    input["tenantId"] = "acme";

    const auto held = plane.error_of("reservations/extend", agent, input);
    const Json between = attributes(made);
    input["endsAt"] = end + 2 * kHour;
    const auto changed = plane.error_of("reservations/extend", agent, input);
    plane.iam.set_policy({});
    input["endsAt"] = end + kHour;
    const Json longer = plane.call("reservations/extend", agent, input);

    EXPECT_EQ(held.code(), ErrorCode::ConfirmationRequired);
    EXPECT_EQ(between.at("durationSeconds"), 3'600);
    EXPECT_EQ(changed.details()->at("reason"), "idempotency-key-reused");
    EXPECT_EQ(longer.at("endsAt"), end + kHour);
}

// An extend and the expiry at the same millisecond: one of them, never both.
TEST_P(ClaimsExtend, MeetsTheExpiry) {
    constexpr int kRounds = 1'000;
    int extended = 0;
    for (int round = 0; round < kRounds; ++round) {
        const Json made = reserve(asks(pool, 1, 1, {{"durationSeconds", 60}}));
        run_timers();
        const EpochMs end = made.at("endsAt");
        plane.clock.set(end - 1);
        std::atomic<bool> is_extended = false;
        std::thread caller([&] {
            try {
                extend(made, end + 60'000, "k" + std::to_string(round));
                is_extended = true;
            } catch (const ComputeError&) {  // the expiry came first
            }
        });
        plane.clock.set(end);
        run_timers();
        caller.join();
        run_timers();

        const Json now = get(made);
        ASSERT_EQ(now.at("state"), is_extended ? "active" : "ended");
        ASSERT_EQ(now.at("endsAt"), is_extended ? end + 60'000 : end);
        extended += is_extended ? 1 : 0;
        call("release", {{"reservationId", made.at("id")}});
        advance(2 * kCleanup);
    }
    RecordProperty("extended", extended);
    EXPECT_THAT(faults(), IsEmpty());
}

}  // namespace
}  // namespace compute::capacity
