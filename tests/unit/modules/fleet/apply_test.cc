// fleet.apply: two phases, all or nothing.
#include <algorithm>

#include "tests/unit/modules/fleet/fleet_rig.h"

namespace compute::fleet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FleetApply : public Fleet {
protected:
    int marks() {
        return static_cast<int>(plane.database().read([](store::Transaction& tx) {
            return tx.get_row("select count(*) from fleet_objects").get_int(0);
        }));
    }
    // Runs once, when the first sub-call of an apply has been decided.
    void between_the_phases(std::function<void()> change) {
        auto is_done = std::make_shared<bool>(false);
        plane.iam.set_on_call(
            [this, is_done, change = std::move(change)](const support::IamCall& asked) {
                if (!*is_done && asked.what == "require" && asked.action != "compute:fleet:admin") {
                    *is_done = true;
                    change();
                }
            }
        );
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, FleetApply, support::both_engines(), support::engine_name);

TEST_P(FleetApply, MakesWhatTheDocumentSays) {
    const Json answer = apply(small_document());

    EXPECT_EQ(answer.at("applied"), 4);
    EXPECT_EQ(answer.at("plan").at("calls").size(), 4U);
    EXPECT_EQ(pool_named("h100").at("sharing"), "fraction");
    EXPECT_EQ(project_named("vision").at("labels"), (Json{{"tier", "gold"}}));
    const Json quotas = call("quotas/list", Json::object()).at("items");
    ASSERT_THAT(quotas, SizeIs(2));
    EXPECT_EQ(quotas[0].at("limits"), (Json{{"gpuMilli", 32'000}}));
    EXPECT_EQ(quotas[1].at("poolId"), pool_named("h100").at("id"));
    EXPECT_EQ(marks(), 4);
}

TEST_P(FleetApply, M117_TheRealOneIsDecidedOnceAndEachOfItsCallsOnce) {
    plane.clear();

    (void)apply(small_document());

    std::vector<std::string> decided;
    for (const auto& asked : plane.iam.calls()) {
        if (asked.what == "require") {
            decided.push_back(asked.tenant + " " + asked.action + " " + asked.resource.type);
        }
    }
    EXPECT_THAT(
        decided,
        ElementsAre(
            "root compute:fleet:admin compute-fleet",
            "acme compute:projects:create compute-tenant",
            "acme compute:pools:create compute-tenant",
            "acme compute:quotas:set compute-project",
            "root compute:quotas:set compute-fleet"
        )
    );
    EXPECT_EQ(plane.iam.count("authorize"), 0);
}

TEST_P(FleetApply, EachCallHasItsAuditRowAndTheWholeHasOne) {
    (void)apply(small_document());

    const auto rows = plane.audit();
    ASSERT_THAT(rows, SizeIs(5));
    const auto whole = std::find_if(rows.begin(), rows.end(), [](const support::AuditRow& row) {
        return row.method == "fleet/apply";
    });
    ASSERT_NE(whole, rows.end());
    EXPECT_EQ(whole->action, "compute:fleet:admin");
    EXPECT_EQ(whole->tenant_id, "root");
    EXPECT_EQ(
        std::count_if(
            rows.begin(),
            rows.end(),
            [&](const support::AuditRow& row) { return row.parent_id == whole->id; }
        ),
        4
    );
}

TEST_P(FleetApply, TellsWithOneEvent) {
    const Json planned = plan(small_document());
    (void)apply(small_document());

    EXPECT_THAT(
        event_types(),
        ElementsAre(
            "project.created", "pool.created", "quota.changed", "quota.changed", "fleet.applied"
        )
    );
    const auto event = plane.outbox().back();
    EXPECT_EQ(event.subject, "fleet/global");
    EXPECT_EQ(event.tenant_id, "acme");
    EXPECT_EQ(
        event.data,
        (Json{
            {"tenantId", "acme"},
            {"planHash", planned.at("planHash")},
            {"counts", {{"created", 4}, {"updated", 0}, {"deleted", 0}}}})
    );
}

TEST_P(FleetApply, ApplyingTwiceIsNothingToDo) {
    (void)apply(small_document());
    const std::size_t events = plane.outbox().size();
    plane.clear();

    const Json again = apply(small_document());

    EXPECT_EQ(again.at("applied"), 0);
    EXPECT_THAT(again.at("plan").at("calls"), IsEmpty());
    EXPECT_THAT(plane.outbox(), SizeIs(events));
    EXPECT_EQ(plane.iam.count("require"), 1);
}

TEST_P(FleetApply, AnotherPlanThanTheOneExpectedIsRefusedBeforeAnyCallIsDecided) {
    Json input = input_of(small_document(), false);
    input["expectedPlanHash"] = plan(small_document()).at("planHash");
    call("projects/create", {{"name", "vision"}, {"idempotencyKey", "k"}});
    plane.clear();

    const ComputeError error = apply_error(input);

    EXPECT_EQ(error.code(), ErrorCode::ConfigDrift);
    EXPECT_EQ(error.details()->at("expectedPlanHash"), input.at("expectedPlanHash"));
    EXPECT_EQ(error.details()->at("planHash"), plan(small_document()).at("planHash"));
    EXPECT_EQ(plane.iam.count("require"), 1);
    EXPECT_THAT(export_document().at("pools"), IsEmpty());
}

TEST_P(FleetApply, TheExpectedPlanIsApplied) {
    Json input = input_of(small_document(), false);
    input["expectedPlanHash"] = plan(small_document()).at("planHash");

    EXPECT_EQ(plane.call("fleet/apply", TestPlane::root(), input).at("applied"), 4);
    input["expectedPlanHash"] = std::string(63, 'a');
    EXPECT_EQ(apply_error(input).code(), ErrorCode::InvalidInput);
}

TEST_P(FleetApply, M134_AChangeBetweenThePhasesAppliesNothing) {
    call("pools/create", {{"name", "h100"}});
    const std::string id = pool_named("h100").at("id").get<std::string>();
    const std::size_t events = plane.outbox().size();
    between_the_phases([&] { sql("update pools set version = version + 1 where id = $1", {id}); });

    const ComputeError error = apply_error(input_of(small_document(), false));

    EXPECT_EQ(error.code(), ErrorCode::ConfigDrift);
    EXPECT_THAT(plane.outbox(), SizeIs(events));
    EXPECT_THAT(export_document().at("projects"), IsEmpty());
    EXPECT_EQ(marks(), 0);
}

TEST_P(FleetApply, M133_WhenOneCallFailsNothingIsThere) {
    const Json vision = call("projects/create", {{"name", "vision"}, {"idempotencyKey", "k"}});
    Json document = small_document();
    document["pools"].push_back({{"name", "second"}});
    const std::size_t events = plane.outbox().size();
    // A row that no method leaves behind: its version says there is none, so the last call fails.
    sql("insert into quotas (tenant_id, project_id, pool_id, gpu_model, limits, version, "
        "updated_by, "
        "created_at, updated_at) values ('acme', '', '', '', '{}', 0, '', 0, 0)");

    const ComputeError error = apply_error(input_of(document, false));

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_THAT(export_document().at("pools"), IsEmpty());
    EXPECT_EQ(project_named("vision").at("version"), vision.at("version"));
    EXPECT_THAT(plane.outbox(), SizeIs(events));
    EXPECT_EQ(marks(), 0);
}

TEST_P(FleetApply, WhatIsBlockedRefusesTheWhole) {
    Json document = small_document();
    document["quotas"].push_back({{"project", "nobody"}, {"limits", {{"gpuMilli", 1}}}});

    const ComputeError error = apply_error(input_of(document, false));

    EXPECT_EQ(error.code(), ErrorCode::InvalidState);
    EXPECT_THAT(error.message(), HasSubstr("project nobody: there is no project nobody"));
    EXPECT_EQ(error.details()->at("blocked"), plan(document).at("blocked"));
    EXPECT_THAT(export_document().at("pools"), IsEmpty());
}

TEST_P(FleetApply, TheCallerNeedsEachCallsOwnRight) {
    plane.iam.set_policy([](const auto&, const iam::Question& question) {
        return question.action == "compute:fleet:admin";
    });

    EXPECT_EQ(apply_error(input_of(small_document(), false)).code(), ErrorCode::AccessDenied);
    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(FleetApply, OfTwoAtOnceOneDriftsOrFindsNothingToDo) {
    int applied = 0;
    int drifted = 0;
    std::optional<ErrorCode> code;
    between_the_phases([&] {
        TestPlane other(plane, {capacity::capacity_module(), fleet_module()});
        applied = other.call("fleet/apply", TestPlane::root(), input_of(small_document(), false))
                      .at("applied")
                      .get<int>();
    });
    try {
        (void)apply(small_document());
    } catch (const ComputeError& error) {
        code = error.code();
        ++drifted;
    }

    EXPECT_EQ(applied, 4);
    EXPECT_EQ(drifted, 1);
    EXPECT_EQ(code, ErrorCode::ConfigDrift);
    EXPECT_EQ(plan(small_document()).at("calls").size(), 0U);
}

TEST_P(FleetApply, AThingThatWasTakenAwayIsMadeAnew) {
    (void)apply(small_document());
    const Json before = pool_named("h100");
    call(
        "quotas/set",
        {{"projectId", project_named("vision").at("id")},
         {"poolId", before.at("id")},
         {"limits", Json::object()}}
    );
    call("pools/delete", {{"poolId", before.at("id")}});
    call("projects/archive", {{"projectId", project_named("vision").at("id")}});

    EXPECT_EQ(apply(small_document()).at("applied"), 3);

    EXPECT_NE(pool_named("h100").at("id"), before.at("id"));
    EXPECT_THAT(plan(small_document()).at("calls"), IsEmpty());
}

}  // namespace
}  // namespace compute::fleet
