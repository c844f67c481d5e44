#include <atomic>
#include <thread>

#include "iam/usage.h"
#include "modules/capacity/quota.h"

#include "tests/unit/modules/capacity/claims_lab.h"

namespace compute::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClaimsCreate : public ClaimsLab {};
INSTANTIATE_TEST_SUITE_P(Engines, ClaimsCreate, support::both_engines(), support::engine_name);

TEST_P(ClaimsCreate, PlacesWhatFits) {
    const std::string pool = create_pool();
    const NodeId node = add_node(pool, {.name = "n1"});
    const EpochMs now = plane.clock.now_ms();

    const Json made = reserve(asks(pool, 8));

    EXPECT_EQ(made.at("state"), "placed");
    EXPECT_EQ(made.at("operation").at("state"), "succeeded");
    EXPECT_EQ(made.at("startsAt"), now);
    EXPECT_EQ(made.at("endsAt"), now + kHour);
    ASSERT_THAT(made.at("nodes"), SizeIs(1));
    EXPECT_EQ(made.at("nodes")[0].at("nodeId"), node.str());
    EXPECT_THAT(made.at("nodes")[0].at("gpus"), SizeIs(8));
    ASSERT_THAT(bookings(made), SizeIs(8));
    EXPECT_EQ(bookings(made)[0].ends_at, now + kHour + 60'000);  // the pool's cleanup time
    EXPECT_EQ(get(made), made);
    EXPECT_THAT(events(), ElementsAre("reservation.placed"));
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsCreate, QueuesWhatDoesNotFit) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json first = reserve(asks(pool, 8));

    const Json second = reserve(asks(pool, 1));

    EXPECT_EQ(second.at("state"), "pending");
    EXPECT_EQ(second.at("operation").at("state"), "running");
    EXPECT_EQ(second.at("queuePosition"), 1);
    EXPECT_EQ(second.at("explanation").at("filtered").at("busy"), 1);
    EXPECT_EQ(
        second.at("explanation").at("earliestStart"), first.at("endsAt").get<EpochMs>() + 60'000
    );
    EXPECT_THAT(bookings(second), IsEmpty());
    EXPECT_THAT(events(), ElementsAre("reservation.placed", "reservation.pending"));
}

TEST_P(ClaimsCreate, M67_M76_DecidesOnceOnTheDraftAndWhatItAsksFor) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    Json attributes;
    plane.iam.set_policy([&](const iam::Session&, const iam::Question& question) {
        if (question.action == "compute:reservations:create") {
            attributes = plane.attributes_of("reservation", question.resource.id);
        }
        return true;
    });
    plane.iam.clear();

    const Json made = reserve(asks(pool, 2, 3, {{"gpuModels", {"H100"}}, {"name", "run"}}));

    EXPECT_EQ(plane.iam.count("require"), 1);
    EXPECT_EQ(plane.iam.count("billing"), 1);
    EXPECT_EQ(attributes.at("gpuCount"), 2);
    EXPECT_EQ(attributes.at("durationSeconds"), 3 * 3'600);
    EXPECT_EQ(attributes.at("gpuHours"), 6);
    EXPECT_EQ(attributes.at("poolId"), pool);
    EXPECT_EQ(attributes.at("gpuModels"), Json::array({"H100"}));
    EXPECT_EQ(attributes.at("exclusive"), false);
    EXPECT_EQ(attributes.at("startsAt"), made.at("startsAt"));
}

// A policy caps the number of GPUs at 64 and the time at 24 hours, in one decision.
TEST_P(ClaimsCreate, M68_M69_CapsAreDecidedInOneStep) {
    const std::string pool = create_pool();
    for (int i = 0; i < 8; ++i) {
        add_node(pool, {.name = "n" + std::to_string(i)});
    }
    plane.iam.set_policy([&](const iam::Session&, const iam::Question& question) {
        if (question.action != "compute:reservations:create") {
            return true;
        }
        const Json asked = plane.attributes_of("reservation", question.resource.id);
        return asked.at("gpuCount") <= 64 && asked.at("durationSeconds") <= 86'400;
    });

    const auto too_many = error_of_reserve(asks(pool, 65, 24));
    const auto too_long =
        error_of_reserve(asks(pool, 64, 24, {{"durationSeconds", 86'401}, {"idempotencyKey", "l"}})
        );
    const Json denied = call("list", {{"state", "denied"}});
    plane.iam.clear();
    const Json allowed = reserve(asks(pool, 64, 24));

    EXPECT_EQ(too_many.code(), ErrorCode::AccessDenied);
    EXPECT_EQ(too_long.code(), ErrorCode::AccessDenied);
    EXPECT_THAT(denied.at("items"), SizeIs(2));
    EXPECT_THAT(bookings(denied.at("items")[0]), IsEmpty());
    EXPECT_EQ(allowed.at("state"), "placed");
    EXPECT_EQ(plane.iam.count("require"), 1);
    EXPECT_THAT(call("list", Json::object()).at("items"), SizeIs(1));  // drafts are hidden
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_P(ClaimsCreate, M71_M73_M74_M114_RepeatingAnswersTheSame) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json made = reserve(asks(pool, 1, 1, {{"idempotencyKey", "once"}}));
    plane.iam.clear();
    const auto audited = plane.audit().size();

    const Json again =
        reserve(asks(pool, 1, 1, {{"idempotencyKey", "once"}, {"wait", {{"timeoutMs", 10}}}}));
    const auto other = error_of_reserve(asks(pool, 2, 1, {{"idempotencyKey", "once"}}));
    const Json other_identity =
        reserve(asks(pool, 1, 1, {{"idempotencyKey", "once"}}), "admin:acme#zoe");

    EXPECT_EQ(again, made);
    EXPECT_EQ(plane.iam.count("require"), 1);  // the other identity's
    EXPECT_EQ(plane.audit().size(), audited + 1);
    EXPECT_EQ(other.code(), ErrorCode::Conflict);
    EXPECT_EQ(other.details()->at("reason"), "idempotency-key-reused");
    EXPECT_NE(other_identity.at("id"), made.at("id"));
}

TEST_P(ClaimsCreate, M72_M91_ADeniedDraftIsDecidedAgain) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    plane.iam.set_policy([](const iam::Session&, const iam::Question&) { return false; });
    const auto refused = error_of_reserve(asks(pool, 1, 1, {{"idempotencyKey", "k"}}));
    plane.iam.set_policy({});
    const Json draft = call("list", {{"state", "denied"}}).at("items")[0];

    const Json made = reserve(asks(pool, 1, 1, {{"idempotencyKey", "k"}}));

    EXPECT_EQ(refused.code(), ErrorCode::AccessDenied);
    EXPECT_EQ(made.at("id"), draft.at("id"));
    EXPECT_EQ(made.at("state"), "placed");
}

TEST_P(ClaimsCreate, M93_M96_M97_AHeldCallWaitsForItsConfirmation) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const std::string agent = TestPlane::agent_of("acme");
    plane.iam.set_policy([](const iam::Session& session, const iam::Question&) {
        return !session.caller.is_delegated();
    });
    const EpochMs expires = plane.clock.now_ms() + kHour;
    plane.iam.set_confirmations([&](const auto&, const auto&, auto, auto) {
        return iam::Confirmation{.id = "cnf_1", .expires_at = expires};
    });

    const auto held = error_of_reserve(asks(pool, 4, 2, {{"idempotencyKey", "k"}}), agent);
    const auto calls = plane.iam.calls();
    const Json waiting = call("list", {{"state", "awaiting-confirmation"}}).at("items")[0];
    const auto booked_while_waiting = bookings(waiting);
    const auto changed = error_of_reserve(asks(pool, 5, 2, {{"idempotencyKey", "k"}}), agent);
    plane.iam.set_policy({});
    const Json made = reserve(asks(pool, 4, 2, {{"idempotencyKey", "k"}}), agent);

    EXPECT_EQ(held.code(), ErrorCode::ConfirmationRequired);
    EXPECT_EQ(held.details()->at("confirmationId"), "cnf_1");
    EXPECT_EQ(waiting.at("confirmationId"), "cnf_1");
    EXPECT_THAT(booked_while_waiting, IsEmpty());
    const auto asked = std::find_if(calls.begin(), calls.end(), [](const auto& call) {
        return call.what == "confirm";
    });
    ASSERT_NE(asked, calls.end());
    EXPECT_THAT(asked->reason, HasSubstr("reserve 4 GPUs of pool " + pool));
    EXPECT_EQ(changed.details()->at("reason"), "idempotency-key-reused");
    EXPECT_EQ(made.at("id"), waiting.at("id"));
    EXPECT_EQ(made.at("state"), "placed");
}

TEST_P(ClaimsCreate, M79_M81_M82_ABudgetRefusesAndLeavesTheDraftUndecided) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    plane.iam.set_billing([](const TenantId&, double hours) {
        return hours > 6 ? iam::BillingVerdict{.is_allowed = false, .blocked_by = "month"}
                         : iam::BillingVerdict{.is_allowed = true, .blocked_by = {}};
    });

    const auto refused = error_of_reserve(asks(pool, 8, 1, {{"idempotencyKey", "k"}}));
    const Json drafts = call("list", {{"state", "draft"}}).at("items");
    plane.iam.set_billing({});
    const Json made = reserve(asks(pool, 8, 1, {{"idempotencyKey", "k"}}));

    EXPECT_EQ(refused.code(), ErrorCode::BudgetExceeded);
    EXPECT_EQ(refused.details()->at("budget"), "month");
    ASSERT_THAT(drafts, SizeIs(1));
    EXPECT_EQ(made.at("id"), drafts[0].at("id"));
}

TEST_P(ClaimsCreate, WhatIsBookedIsSpentAndReleasingGivesTheRestBack) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const auto spent = [&] {
        return plane.database().read([&](store::Transaction& tx) {
            return iam::usage_gpu_milliseconds(
                tx, TenantId("acme"), {0, plane.clock.now_ms() + 100 * kHour}
            );
        });
    };

    const Json made = reserve(asks(pool, 2, 40));  // over a day's end
    const auto booked = spent();
    advance(10 * kHour);
    run_timers();
    call("release", {{"reservationId", made.at("id")}});

    EXPECT_EQ(booked, 2 * 40 * kHour);
    EXPECT_EQ(spent(), 2 * 10 * kHour);
}

TEST_P(ClaimsCreate, M112_WaitsForAPlace) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json first = reserve(asks(pool, 8));

    const Json second = reserve(asks(pool, 8, 1, {{"wait", {{"timeoutMs", 500}}}}));

    EXPECT_EQ(second.at("state"), "pending");  // a timeout is an answer
    EXPECT_THAT(plane.clock.sleeps(), ::testing::Contains(50));
    EXPECT_EQ(first.at("state"), "placed");
}

TEST_P(ClaimsCreate, NamesAreUniqueAmongTheLiving) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    const Json first = reserve(asks(pool, 1, 1, {{"name", "run"}}));

    const auto taken = error_of_reserve(asks(pool, 1, 1, {{"name", "run"}}));
    call("release", {{"reservationId", first.at("id")}});
    const Json second = reserve(asks(pool, 1, 1, {{"name", "run"}}));

    EXPECT_EQ(taken.details()->at("reason"), "name-taken");
    EXPECT_EQ(taken.details()->at("reservationId"), first.at("id"));
    EXPECT_EQ(second.at("state"), "placed");
}

TEST_P(ClaimsCreate, AnotherTenantReservesInASharedPoolOnly) {
    const std::string own = create_pool("own");
    const std::string shared = create_pool("shared", {{"sharedWith", {"globex"}}});
    add_node(own, {.name = "n1"});
    add_node(shared, {.name = "n2"});

    const auto hidden = error_of_reserve(asks(own, 1), "admin:globex");
    const Json made = reserve(asks(shared, 1), "admin:globex");
    const auto foreign = error_of("get", {{"reservationId", made.at("id")}});

    EXPECT_EQ(hidden.code(), ErrorCode::NotFound);
    EXPECT_EQ(made.at("state"), "placed");
    EXPECT_EQ(foreign.code(), ErrorCode::NotFound);
    EXPECT_THAT(call("list", Json::object()).at("items"), IsEmpty());
}

struct Bound {
    const char* field;
    Json at_limit;
    Json past;
};

TEST_P(ClaimsCreate, BoundsHoldAtTheLimitAndOnePast) {
    const std::string pool =
        create_pool("training", {{"maxDurationSeconds", 15'724'800}, {"cleanupSeconds", 0}});
    const EpochMs now = plane.clock.now_ms();
    Json models = Json::array();
    for (int i = 0; i < 8; ++i) {
        models.push_back("M" + std::to_string(i));
    }
    Json too_many_models = models;
    too_many_models.push_back("M8");
    const EpochMs year = 365 * 24 * kHour;
    const std::vector<Bound> bounds{
        {"gpuCount", 1, 0},
        {"gpuCount", 8192, 8193},
        {"gpusPerNode", 1, 0},
        {"gpusPerNode", 16, 17},
        {"gpusPerNode", 8, 5},
        {"gpuModels", models, too_many_models},
        {"durationSeconds", 60, 59},
        {"durationSeconds", 15'724'800, 15'724'801},
        {"startsAt", now - 60'000, now - 60'001},
        {"startsAt", now + year, now + year + 1},
        {"placeBy", now + 1, now},
        {"cpuMilliPerGpu", 0, -1},
        {"cpuMilliPerGpu", 1'024'000, 1'024'001},
        {"memoryMibPerGpu", 4'194'304, 4'194'305},
        {"name", std::string(63, 'a'), std::string(64, 'a')},
        {"idempotencyKey", std::string(128, 'k'), std::string(129, 'k')},
        {"fabric", "require", "must"},
    };
    for (const Bound& bound : bounds) {
        SCOPED_TRACE(std::string(bound.field) + " " + bound.at_limit.dump().substr(0, 40));
        Json good = asks(pool, 16);
        good[bound.field] = bound.at_limit;
        if (std::string_view(bound.field) == "durationSeconds") {
            good["gpuCount"] = 1;
        }
        EXPECT_NO_THROW(reserve(good));
        Json bad = asks(pool, 16);
        bad[bound.field] = bound.past;
        const auto error = error_of_reserve(bad);
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        EXPECT_THAT(error.message(), HasSubstr(bound.field));
    }
    EXPECT_EQ(
        error_of_reserve(asks(pool, 1, 1, {{"colour", "red"}})).code(), ErrorCode::InvalidInput
    );
}

TEST_P(ClaimsCreate, ThePoolBoundsTheDurationAndTheShare) {
    const std::string whole = create_pool("whole", {{"maxDurationSeconds", 7'200}});
    const std::string shares =
        create_pool("shares", {{"sharing", "fraction"}, {"fractionStepMilli", 250}});
    add_node(shares, {.name = "n1"});

    EXPECT_NO_THROW(reserve(asks(whole, 1, 2)));
    EXPECT_THAT(
        error_of_reserve(asks(whole, 1, 0, {{"durationSeconds", 7'201}})).message(),
        HasSubstr("durationSeconds: must be at most 7200")
    );
    EXPECT_THAT(
        error_of_reserve(asks(whole, 1, 1, {{"gpuMilli", 500}})).message(), HasSubstr("gpuMilli")
    );
    EXPECT_THAT(
        error_of_reserve(asks(shares, 1, 1, {{"gpuMilli", 300}})).message(), HasSubstr("250")
    );
    EXPECT_THAT(
        error_of_reserve(asks(shares, 2, 1, {{"gpuMilli", 250}})).message(), HasSubstr("gpuCount 1")
    );
    const Json half = reserve(asks(shares, 1, 1, {{"gpuMilli", 500}}));
    ASSERT_THAT(bookings(half), SizeIs(1));
    EXPECT_EQ(bookings(half)[0].milli, 500);
}

TEST_P(ClaimsCreate, ARequestMayNotSayTwoThings) {
    const std::string pool = create_pool();
    const EpochMs now = plane.clock.now_ms();

    const auto late =
        error_of_reserve(asks(pool, 1, 1, {{"startsAt", now + kHour}, {"placeBy", now + kHour + 1}})
        );

    EXPECT_THAT(late.message(), HasSubstr("placeBy: must not be after startsAt"));
}

TEST_P(ClaimsCreate, QuotasRefuseInTheHandler) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    plane.database().write([&](store::Transaction& tx) {
        Quota quota;
        quota.scope.tenant_id = TenantId("acme");
        quota.limits = {{kGpuMilli, 4'000}};
        EXPECT_TRUE(put_quota(tx, quota));
    });

    const Json first = reserve(asks(pool, 4));
    const auto refused = error_of_reserve(asks(pool, 1));

    EXPECT_EQ(first.at("state"), "placed");
    EXPECT_EQ(refused.code(), ErrorCode::QuotaExceeded);
    EXPECT_EQ(refused.details()->at("used"), 4'000);
    EXPECT_EQ(refused.details()->at("requested"), 1'000);
    EXPECT_THAT(call("list", {{"state", "draft"}}).at("items"), SizeIs(1));
}

TEST_P(ClaimsCreate, PreviewSaysWhereItWouldStandAndHoldsNothing) {
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    Json ask = asks(pool, 8);

    const Json fits = call("preview", ask);
    const Json made = reserve(asks(pool, 8));
    const Json busy = call("preview", ask);
    ask["gpuCount"] = 9;
    const Json never = call("preview", ask);

    EXPECT_EQ(fits.at("fits"), true);
    EXPECT_EQ(made.at("state"), "placed");
    EXPECT_EQ(busy.at("fits"), false);
    EXPECT_EQ(busy.at("earliestStart"), made.at("endsAt").get<EpochMs>() + 60'000);
    EXPECT_EQ(never.at("couldEverFit"), false);
}

// The last whole node, many at once: one gets it, the others wait.
TEST_P(ClaimsCreate, TheLastNodeGoesToExactlyOne) {
    constexpr int kClients = 8;
    const std::string pool = create_pool();
    add_node(pool, {.name = "n1"});
    for (int round = 0; round < 3; ++round) {
        const EpochMs start = plane.clock.now_ms() + (round + 1) * 2 * kHour;
        std::vector<std::thread> clients;
        std::atomic<int> placed = 0;
        for (int i = 0; i < kClients; ++i) {
            clients.emplace_back([&, i] {
                Json ask = asks(pool, 8, 1, {{"startsAt", start}, {"tenantId", "acme"}});
                ask["idempotencyKey"] = std::to_string(round) + "-" + std::to_string(i);
                placed += plane.call("reservations/create", admin, ask).at("state") == "placed";
            });
        }
        for (std::thread& client : clients) {
            client.join();
        }
        EXPECT_EQ(placed, 1);
    }
    EXPECT_THAT(faults(), IsEmpty());
}

}  // namespace
}  // namespace compute::capacity
