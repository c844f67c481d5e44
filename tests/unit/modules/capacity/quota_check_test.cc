// The test of a claim against the limits of its tenant and project.
#include <thread>

#include "core/guarded.h"

#include "tests/unit/modules/capacity/quota_rig.h"

namespace compute::capacity {
namespace {

class QuotaCheck : public Quotas {
protected:
    // A node whose GPUs are of the model, with the uuids that the rig's bookings use.
    void insert_model(const std::string& model, int gpus) {
        plane.database().write([&](store::Transaction& tx) {
            std::vector<NodeGpu> list;
            for (int index = 0; index < gpus; ++index) {
                NodeGpu gpu;
                gpu.uuid = model + "-bkg_" + std::to_string(index);
                gpu.index = index;
                gpu.model = model;
                list.push_back(gpu);
            }
            insert_gpus(tx, TenantId("acme"), NodeId("node_" + model), list);
        });
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, QuotaCheck, support::both_engines(), support::engine_name);

TEST_P(QuotaCheck, WithoutAQuotaAnythingGoes) {
    EXPECT_FALSE(refusal_of({.gpus = 100, .starts_at = now, .ends_at = now + kHour}));
}

TEST_P(QuotaCheck, AtTheLimitIsAllowedAndOnePastIsNot) {
    set({{"gpuMilli", 8000}});
    EXPECT_FALSE(refusal_of({.gpus = 8, .starts_at = now, .ends_at = now + kHour}));

    const auto refusal = refusal_of({.gpus = 1, .starts_at = now, .ends_at = now + kHour});

    ASSERT_TRUE(refusal);
    EXPECT_EQ(
        *refusal,
        (Json{
            {"scope", "tenant"},
            {"resource", "gpuMilli"},
            {"limit", 8000},
            {"used", 8000},
            {"requested", 1000},
            {"at", now}})
    );
}

TEST_P(QuotaCheck, ThePeakOfTheWindowCounts) {
    set({{"gpuMilli", 8000}});
    insert({.gpus = 3, .starts_at = now, .ends_at = now + 2 * kHour});
    insert({.gpus = 3, .starts_at = now + kHour, .ends_at = now + 3 * kHour});

    const auto refusal = refusal_of({.gpus = 3, .starts_at = now, .ends_at = now + 3 * kHour});

    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->at("used"), 6000);
    EXPECT_EQ(refusal->at("at"), now + kHour);
    EXPECT_FALSE(refusal_of({.gpus = 5, .starts_at = now, .ends_at = now + kHour}));
}

TEST_P(QuotaCheck, WindowsAreHalfOpen) {
    set({{"gpuMilli", 8000}});
    insert({.gpus = 8, .starts_at = now + kHour, .ends_at = now + 2 * kHour});

    EXPECT_FALSE(refusal_of({.gpus = 8, .starts_at = now, .ends_at = now + kHour}));
    EXPECT_FALSE(refusal_of({.gpus = 8, .starts_at = now + 2 * kHour, .ends_at = now + 3 * kHour}));
    EXPECT_TRUE(
        refusal_of({.gpus = 1, .starts_at = now + 2 * kHour - 1000, .ends_at = now + 2 * kHour})
    );
}

TEST_P(QuotaCheck, CleaningUpIsCharged) {
    set({{"gpuMilli", 8000}});
    insert({.gpus = 8, .starts_at = now, .ends_at = now + kHour, .cleanup_seconds = 60});

    EXPECT_TRUE(refusal_of({.gpus = 1, .starts_at = now + kHour, .ends_at = now + 2 * kHour}));
    EXPECT_FALSE(
        refusal_of({.gpus = 8, .starts_at = now + kHour + 60'000, .ends_at = now + 2 * kHour})
    );
}

TEST_P(QuotaCheck, WaitingClaimsAreChargedFromNowOn) {
    set({{"gpuMilli", 8000}});
    claim({.gpus = 6, .ends_at = now + kHour, .state = ReservationState::Pending});

    // It may start at any time, so it counts at any time.
    const EpochMs later = now + 1000 * kHour;
    const auto refusal = refusal_of({.gpus = 3, .starts_at = later, .ends_at = later + kHour});

    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->at("used"), 6000);
    EXPECT_FALSE(refusal_of({.gpus = 2, .starts_at = later, .ends_at = later + kHour}));
}

TEST_P(QuotaCheck, AWaitingClaimWithAStartIsChargedForItsWindow) {
    set({{"gpuMilli", 8000}});
    claim(
        {.gpus = 8,
         .starts_at = now + kHour,
         .ends_at = now + 2 * kHour,
         .state = ReservationState::Pending}
    );

    EXPECT_FALSE(refusal_of({.gpus = 8, .starts_at = now, .ends_at = now + kHour}));
    EXPECT_TRUE(refusal_of({.gpus = 1, .starts_at = now + kHour, .ends_at = now + 2 * kHour}));
}

TEST_P(QuotaCheck, DraftsAreNotCharged) {
    set({{"gpuMilli", 8000}, {"reservations", 1}});
    for (const auto state :
         {ReservationState::Draft,
          ReservationState::Denied,
          ReservationState::AwaitingConfirmation}) {
        insert({.gpus = 8, .ends_at = now + kHour, .state = state});
    }

    EXPECT_FALSE(refusal_of({.gpus = 8, .starts_at = now, .ends_at = now + kHour}));
}

TEST_P(QuotaCheck, TheProjectIsTestedAfterTheTenant) {
    const std::string id = project("vision");
    set({{"gpuMilli", 8000}});
    set({{"gpuMilli", 4000}}, {{"projectId", id}});

    const auto of_project =
        refusal_of({.project = id, .gpus = 5, .starts_at = now, .ends_at = now + kHour});
    const auto of_tenant =
        refusal_of({.project = id, .gpus = 9, .starts_at = now, .ends_at = now + kHour});

    ASSERT_TRUE(of_project && of_tenant);
    EXPECT_EQ(of_project->at("scope"), "project");
    EXPECT_EQ(of_project->at("projectId"), id);
    EXPECT_EQ(of_project->at("limit"), 4000);
    EXPECT_EQ(of_tenant->at("scope"), "tenant");
    EXPECT_FALSE(refusal_of({.gpus = 8, .starts_at = now, .ends_at = now + kHour}));
}

TEST_P(QuotaCheck, AProjectCountsItsOwnClaimsAlone) {
    const std::string id = project("vision");
    set({{"gpuMilli", 4000}}, {{"projectId", id}});
    insert({.gpus = 8, .starts_at = now, .ends_at = now + kHour});
    insert({.project = id, .gpus = 3, .starts_at = now, .ends_at = now + kHour});

    EXPECT_FALSE(refusal_of({.project = id, .starts_at = now, .ends_at = now + kHour}));
    EXPECT_TRUE(refusal_of({.project = id, .starts_at = now, .ends_at = now + kHour}));
}

TEST_P(QuotaCheck, APoolsLimitCountsThatPoolAlone) {
    const std::string id = pool("h100");
    set({{"gpuMilli", 2000}}, {{"poolId", id}});
    insert({.gpus = 8, .starts_at = now, .ends_at = now + kHour});

    EXPECT_FALSE(refusal_of({.pool = id, .gpus = 2, .starts_at = now, .ends_at = now + kHour}));
    const auto refusal = refusal_of({.pool = id, .starts_at = now, .ends_at = now + kHour});
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->at("poolId"), id);
}

TEST_P(QuotaCheck, AModelsLimitCountsGpusOfTheModel) {
    insert_model("H100", 8);
    set({{"gpuMilli", 2000}, {"gpuHoursCommitted", 4}}, {{"gpuModel", "H100"}});
    insert({.gpus = 1, .starts_at = now, .ends_at = now + kHour});

    EXPECT_FALSE(refusal_of({.model = "A100", .gpus = 8, .starts_at = now, .ends_at = now + kHour})
    );
    const auto by_peak = refusal_of({.gpus = 2, .starts_at = now, .ends_at = now + kHour});
    const auto by_hours = refusal_of({.gpus = 1, .starts_at = now, .ends_at = now + 4 * kHour});
    ASSERT_TRUE(by_peak && by_hours);
    EXPECT_EQ(by_peak->at("gpuModel"), "H100");
    EXPECT_EQ(by_peak->at("used"), 1000);
    EXPECT_EQ(by_hours->at("resource"), "gpuHoursCommitted");
    EXPECT_EQ(by_hours->at("used"), 1);
    EXPECT_EQ(by_hours->at("requested"), 4);
}

TEST_P(QuotaCheck, AWaitingClaimCountsForEachModelItMayGet) {
    set({{"gpuMilli", 2000}}, {{"gpuModel", "H100"}});
    const auto wait = [&](std::vector<std::string> models) {
        return refusal_of(
            {.models = std::move(models),
             .gpus = 1,
             .ends_at = now + kHour,
             .state = ReservationState::Pending}
        );
    };

    EXPECT_FALSE(wait({"A100"}));
    EXPECT_FALSE(wait({"A100", "H100"}));
    EXPECT_FALSE(wait({}));
    EXPECT_TRUE(wait({"H100"}));
    EXPECT_FALSE(wait({"A100"}));
}

TEST_P(QuotaCheck, HoursAreThoseOfAllClaimsThatAreNotOver) {
    set({{"gpuHoursCommitted", 10}});
    insert(
        {.gpus = 2,
         .starts_at = now - kHour,
         .ends_at = now + kHour,
         .state = ReservationState::Active}
    );
    claim({.gpus = 2, .ends_at = now + 2 * kHour, .state = ReservationState::Pending});

    const auto refusal =
        refusal_of({.gpus = 1, .starts_at = now, .ends_at = now + 2 * kHour + 1000});

    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->at("used"), 8);
    EXPECT_EQ(refusal->at("requested"), 2.001);
    EXPECT_FALSE(refusal_of({.gpus = 1, .starts_at = now, .ends_at = now + 2 * kHour}));
}

TEST_P(QuotaCheck, ReservationsAreCounted) {
    set({{"reservations", 2}});
    claim({.starts_at = now, .ends_at = now + kHour});
    claim({.ends_at = now + kHour, .state = ReservationState::Pending});

    const auto refusal = refusal_of({.starts_at = now, .ends_at = now + kHour});

    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->at("resource"), "reservations");
    EXPECT_EQ(refusal->at("used"), 2);
    EXPECT_EQ(refusal->at("requested"), 1);
}

TEST_P(QuotaCheck, LoweringBelowWhatIsInUseBlocksOnlyNewClaims) {
    const std::string id = insert({.gpus = 8, .starts_at = now, .ends_at = now + kHour});
    set({{"gpuMilli", 4000}, {"reservations", 0}});

    EXPECT_TRUE(refusal_of({.starts_at = now, .ends_at = now + kHour}));
    EXPECT_FALSE(plane.database().read([&](store::Transaction& tx) {
        return bookings_of(tx, TenantId("acme"), id, now).empty();
    }));
}

TEST_P(QuotaCheck, AnExtendIsTestedForWhatItAdds) {
    set({{"gpuMilli", 8000}, {"gpuHoursCommitted", 20}, {"reservations", 1}});
    const std::string id =
        insert({.gpus = 8, .starts_at = now, .ends_at = now + kHour, .cleanup_seconds = 60});
    const auto extend = [&](EpochMs duration) {
        QuotaRequest request =
            request_of({.gpus = 8, .starts_at = now + kHour, .ends_at = now + kHour + duration});
        request.cleanup_seconds = 60;
        request.extends = id;
        plane.database().write([&](store::Transaction& tx) { check_quota(tx, request, now); });
    };

    EXPECT_NO_THROW(extend(kHour));
    EXPECT_THROW(extend(2 * kHour), ComputeError);  // 8 and 16 hours
    set({{"gpuMilli", 7000}});
    EXPECT_THROW(extend(kHour), ComputeError);
}

TEST_P(QuotaCheck, AnotherTenantsClaimsDoNotCount) {
    set({{"gpuMilli", 1000}});
    insert({.tenant = "globex", .gpus = 8, .starts_at = now, .ends_at = now + kHour});

    EXPECT_FALSE(refusal_of({.starts_at = now, .ends_at = now + kHour}));
}

TEST_P(QuotaCheck, SixtyFourAtOnceNeverExceedIt) {
    constexpr int kClients = 64;
    const std::string id = project("vision");
    set({{"gpuMilli", 40'000}});
    set({{"gpuMilli", 20'000}}, {{"projectId", id}});
    std::atomic<int> of_project{0};
    std::atomic<int> of_tenant{0};

    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
        clients.emplace_back([&, client] {
            Claim asked{.gpus = 2, .starts_at = now, .ends_at = now + kHour};
            if (client % 2 == 0) {
                asked.project = id;
            }
            if (!refusal_of(asked)) {
                ++(asked.project ? of_project : of_tenant);
            }
        });
    }
    clients.clear();

    EXPECT_LE(of_project, 10);
    EXPECT_EQ(of_project + of_tenant, 20);
    EXPECT_EQ(call("get", Json::object()).at("resources").at("gpuMilli").at("used"), 40'000);
    EXPECT_LE(call("get", {{"projectId", id}}).at("resources").at("gpuMilli").at("used"), 20'000);
}

}  // namespace
}  // namespace compute::capacity
