// Rows about waiting: M104-M114.
#include <algorithm>
#include <numeric>
#include <thread>

#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

using std::chrono::milliseconds;

const std::string kPath = "claims/create";
const std::string kAnn = TestPlane::admin_of("acme");

class Polling : public Contract {};
COMPUTE_BOTH_ENGINES(Polling);

Json waiting(const std::string& key, std::int64_t timeout_ms) {
    Json input = claim_input("acme", key);
    input["wait"] = {{"timeoutMs", timeout_ms}};
    return input;
}

// claims/create whose refresh() first does what the test says; the argument counts from 1.
Module claims_with_refresh(std::function<void(Context&, int)> on_refresh) {
    Method<Claim> method = claim_method({.starts_running = true});
    const auto count = std::make_shared<int>(0);
    method.poll->refresh = [count, on_refresh, inner = method.poll->refresh](
                               Context& context, Claim& claim, const Json& output
                           ) {
        on_refresh(context, ++*count);
        return inner(context, claim, output);
    };
    Module module = claims();
    module.methods = {entry("claims", "create", method)};
    return module;
}

// On a thread of its own, as it would be in life: refresh() is inside a transaction.
void finish(LabPlane& plane) {
    std::jthread([&] {
        plane.test_database().database().execute("update lab_claims set operation = 'succeeded'");
    }).join();
}

TEST_P(Polling, M104_WaitOnAMethodWithoutItIsAnUnknownField) {
    Method<Plain> method = plain(Kind::Mutation);
    method.input(
        schema::Manifest<Plain>().optional("tenantId", &Plain::tenant_id, schema::tenant_id())
    );
    LabPlane plane(GetParam(), {lab({entry("things", "poke", method)})});

    const auto error =
        plane.error_of("things/poke", kAnn, {{"tenantId", "acme"}, {"wait", {{"timeoutMs", 5}}}});

    EXPECT_EQ(error.message(), "Unknown field wait");
}

TEST_P(Polling, M105_WhatIsDoneIsAnsweredAtOnce) {
    LabPlane plane(GetParam(), {claims()});

    EXPECT_EQ(
        plane.call(kPath, kAnn, waiting("k1", 5'000)).at("operation").at("state"), "succeeded"
    );

    EXPECT_EQ(plane.count("refresh"), 0);
    EXPECT_THAT(plane.clock.sleeps(), IsEmpty());
}

TEST_P(Polling, M106_AReplayWaitsToo) {
    LabPlane* at = nullptr;
    LabPlane plane(GetParam(), {claims_with_refresh([&](Context&, int count) {
                       if (count == 2) {
                           finish(*at);
                       }
                   })});
    at = &plane;
    plane.call(kPath, kAnn, claim_input("acme", "k1"));
    EXPECT_EQ(plane.count("refresh"), 0);

    const Json replay = plane.call(kPath, kAnn, waiting("k1", 5'000));

    EXPECT_EQ(replay.at("operation").at("state"), "succeeded");
    EXPECT_GE(plane.count("refresh"), 2);
    EXPECT_EQ(plane.made(), 1);
}

TEST_P(Polling, M107_WithoutATimeoutTheAnswerIsImmediate) {
    LabPlane plane(GetParam(), {claims({.starts_running = true})});

    EXPECT_EQ(
        plane.call(kPath, kAnn, claim_input("acme", "k1")).at("operation").at("state"), "running"
    );
    EXPECT_EQ(plane.call(kPath, kAnn, waiting("k2", 0)).at("operation").at("state"), "running");

    EXPECT_EQ(plane.count("refresh"), 0);
}

TEST_P(Polling, M108_RefreshRunsInReadOnlyTransactions) {
    LabPlane plane(GetParam(), {claims_with_refresh([](Context& context, int) {
                       EXPECT_TRUE(context.transaction().is_read_only());
                       insert_row(context.transaction(), "written");
                   })});

    EXPECT_EQ(plane.error_of(kPath, kAnn, waiting("k1", 5'000)).code(), ErrorCode::InternalError);

    EXPECT_EQ(plane.rows(), 0);
    EXPECT_EQ(plane.made(), 1);
}

TEST_P(Polling, M109_TheGapsGrowFromFiftyMillisecondsToOneSecond) {
    LabPlane plane(GetParam(), {claims({.starts_running = true})});

    plane.call(kPath, kAnn, waiting("k1", 10'000));

    const auto gaps = plane.clock.sleeps();
    ASSERT_GE(gaps.size(), 8U);
    EXPECT_THAT(
        std::vector<std::int64_t>(gaps.begin(), gaps.begin() + 7),
        ElementsAre(50, 100, 200, 400, 800, 1000, 1000)
    );
    EXPECT_EQ(*std::max_element(gaps.begin(), gaps.end()), 1000);
}

TEST_P(Polling, M110_AWaitIsAtMostThirtySeconds) {
    LabPlane plane(GetParam(), {claims({.starts_running = true})});
    const EpochMs start = plane.clock.now_ms();

    plane.call(kPath, kAnn, waiting("k1", 60'000));

    EXPECT_EQ(plane.clock.now_ms() - start, 30'000);
    const auto gaps = plane.clock.sleeps();
    EXPECT_EQ(std::accumulate(gaps.begin(), gaps.end(), std::int64_t{0}), 30'000);
}

TEST_P(Polling, M111_AWaitStopsAtTheAbort) {
    bool is_gone = false;
    std::vector<bool> told;
    LabPlane plane(
        GetParam(), {claims_with_refresh([&](Context&, int count) { is_gone = count == 3; })}
    );
    method::Call call = plane.call_of(kPath, kAnn, waiting("k1", 30'000));
    call.abort = [&] { return is_gone; };
    call.on_wait = [&](bool is_waiting) { told.push_back(is_waiting); };
    const EpochMs start = plane.clock.now_ms();

    const Json answer = plane.run(std::move(call));

    EXPECT_EQ(answer.at("operation").at("state"), "running");
    EXPECT_EQ(plane.count("refresh"), 3);
    EXPECT_EQ(plane.clock.now_ms() - start, 350);
    EXPECT_THAT(told, ElementsAre(true, false));
}

TEST_P(Polling, M112_ATimeoutAnswersTheLastOutput) {
    LabPlane plane(GetParam(), {claims({.starts_running = true})});

    EXPECT_EQ(plane.call(kPath, kAnn, waiting("k1", 120)).at("operation").at("state"), "running");

    EXPECT_THAT(plane.clock.sleeps(), ElementsAre(50, 70));
}

TEST_P(Polling, M114_WaitIsNoPartOfTheRequest) {
    LabPlane plane(GetParam(), {claims({.starts_running = true})});
    const Json first = plane.call(kPath, kAnn, waiting("k1", 100));

    EXPECT_EQ(plane.call(kPath, kAnn, waiting("k1", 200)), first);
    EXPECT_EQ(plane.call(kPath, kAnn, claim_input("acme", "k1")), first);
    EXPECT_EQ(plane.made(), 1);
}

TEST_P(Polling, ABusyDatabaseDuringTheWaitIsNoAnswer) {
    LabPlane* at = nullptr;
    LabPlane plane(GetParam(), {claims_with_refresh([&](Context&, int count) {
                       if (count == 1) {
                           throw store::StoreBusy("a moment");
                       }
                       finish(*at);
                   })});
    at = &plane;

    EXPECT_NO_THROW(plane.call(kPath, kAnn, waiting("k1", 5'000)));
}

TEST_P(Polling, ATimeoutMustBeAnIntegerFromZero) {
    LabPlane plane(GetParam(), {claims()});

    for (const Json& bad : {Json(-1), Json(1.5), Json("5"), Json(nullptr)}) {
        Json input = claim_input("acme", "k1");
        input["wait"] = {{"timeoutMs", bad}};
        EXPECT_THAT(plane.error_of(kPath, kAnn, input).message(), StartsWith("wait.timeoutMs: "))
            << bad.dump();
    }
}

}  // namespace
}  // namespace compute::contract
