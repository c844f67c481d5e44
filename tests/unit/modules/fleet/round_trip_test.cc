// What is exported and applied changes nothing; and what is applied is exported back.
#include <rapidcheck.h>

#include "tests/unit/modules/fleet/fleet_rig.h"

namespace compute::fleet {
namespace {

using ::testing::IsEmpty;

class FleetRoundTrip : public Fleet {};
INSTANTIATE_TEST_SUITE_P(Engines, FleetRoundTrip, support::both_engines(), support::engine_name);

template <class T>
T pick(std::vector<T> values) {
    return *rc::gen::elementOf(std::move(values));
}
bool coin() {
    return *rc::gen::arbitrary<bool>();
}

Json labels() {
    Json out = Json::object();
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        out["key-" + std::to_string(i)] = pick<std::string>({"", "a", "é", "x y"});
    }
    return out;
}

// Names of its own, so that no node stands in two groups.
Json node_group(const std::string& prefix) {
    Json out = group(
        prefix + pick<std::string>({"", "[1]", "[3,1-2]", "[001-120]", "[7-9,11]"}),
        *rc::gen::inRange(0, 17)
    );
    out["gpuModel"] = pick<std::string>({"H100", "A100 80GB", "T4"});
    if (coin()) {
        out["fabric"] = pick<std::string>({"f-1", "leaf 2"});
    }
    if (coin()) {
        out["labels"] = labels();
    }
    return out;
}

Json pool(const std::string& name) {
    Json out{{"name", name}};
    const auto maybe = [&](const char* field, const Json& value) {
        if (coin()) {
            out[field] = value;
        }
    };
    maybe("description", pick<std::string>({"", "what it is for"}));
    maybe("labels", labels());
    maybe("packing", pick<std::string>({"pack", "spread"}));
    maybe("sharing", pick<std::string>({"whole", "fraction"}));
    maybe("fractionStepMilli", pick<int>({50, 100, 250, 500}));
    maybe("maxDurationSeconds", pick<int>({60, 86'400, 2'592'000, 15'724'800}));
    maybe("cleanupSeconds", pick<int>({0, 60, 3600}));
    maybe("sharedWith", pick<Json>({Json::array(), Json::array({"*"}), Json::array({"b", "a"})}));
    maybe("disconnectedAfterSeconds", pick<int>({20, 80}));
    maybe("lostAfterSeconds", pick<int>({120, 86'400}));
    maybe("queue", pick<std::string>({"strict", "fill"}));
    if (coin()) {
        Json groups = Json::array();
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
            groups.push_back(
                node_group(name + "-" + std::string(static_cast<std::size_t>(i), 'g') + "-x")
            );
        }
        out["nodeGroups"] = groups;
    }
    return out;
}

Json limits() {
    Json out = Json::object();
    for (const char* resource : {"gpuMilli", "gpuHoursCommitted", "reservations"}) {
        if (coin()) {
            out[resource] = pick<Json>({0, 1, 1'000'000'000, nullptr});
        }
    }
    return out;
}

Json any_document() {
    Json out = document_with(
        {{"pools", Json::array()}, {"projects", Json::array()}, {"quotas", Json::array()}}
    );
    std::vector<std::string> pools{""};
    std::vector<std::string> projects{""};
    for (const char* name : {"a", "b", "c-1"}) {
        if (coin()) {
            out["pools"].push_back(pool(name));
            pools.emplace_back(name);
        }
        if (coin()) {
            out["projects"].push_back({{"name", name}, {"labels", labels()}});
            projects.emplace_back(name);
        }
    }
    for (const std::string& project : projects) {
        for (const std::string& in_pool : pools) {
            if (!coin()) {
                continue;
            }
            Json quota{{"limits", limits()}};
            if (!project.empty()) {
                quota["project"] = project;
            }
            if (!in_pool.empty()) {
                quota["pool"] = in_pool;
            }
            out["quotas"].push_back(quota);
        }
    }
    if (coin()) {
        out["quotas"].push_back({{"gpuModel", "A100 80GB"}, {"limits", limits()}});
    }
    return out;
}

TEST_P(FleetRoundTrip, ExportThenPlanIsEmpty) {
    const bool is_true = rc::check("export then plan is empty", [&] {
        const Json document = any_document();
        (void)apply(document, true);

        const Json exported = export_document();

        RC_ASSERT(plan(exported, true).at("calls").empty());
        RC_ASSERT(plan(exported, true).at("blocked").empty());
        RC_ASSERT(plan(document, true).at("calls").empty());
        RC_ASSERT(apply(exported).at("applied") == 0);
    });
    EXPECT_TRUE(is_true);
}

TEST_P(FleetRoundTrip, WhatWasMadeByHandIsExportedToo) {
    call(
        "pools/create",
        {{"name", "h100"}, {"description", "by hand"}, {"nodeGroups", {group("n-[1-2]")}}}
    );
    const std::string id = pool_named("h100").at("id").get<std::string>();
    call("quotas/set", {{"poolId", id}, {"limits", {{"gpuMilli", 1}}}});
    const Json shared = plane.call(
        "pools/create",
        TestPlane::admin_of("globex"),
        {{"tenantId", "globex"}, {"name", "h100"}, {"sharedWith", {"*"}}}
    );
    call("quotas/set", {{"poolId", shared.at("id")}, {"limits", {{"gpuMilli", 2}}}});

    const Json document = export_document();

    EXPECT_EQ(
        document,
        document_with(
            {{"pools",
              {{{"name", "h100"}, {"description", "by hand"}, {"nodeGroups", {group("n-[1-2]")}}}}},
             {"projects", Json::array()},
             {"quotas",
              {{{"pool", "globex/h100"}, {"limits", {{"gpuMilli", 2}}}},
               {{"pool", "h100"}, {"limits", {{"gpuMilli", 1}}}}}},
             {"volumes", Json::array()},
             {"sandboxTemplates", Json::array()}}
        )
    );
    EXPECT_THAT(plan(document).at("calls"), IsEmpty());
}

TEST_P(FleetRoundTrip, WhatIsGoneIsNotNamed) {
    call("pools/create", {{"name", "h100"}});
    const std::string id = pool_named("h100").at("id").get<std::string>();
    call("quotas/set", {{"poolId", id}, {"limits", {{"gpuMilli", 1}}}});
    call("pools/delete", {{"poolId", id}});

    EXPECT_THAT(export_document().at("quotas"), IsEmpty());
}

}  // namespace
}  // namespace compute::fleet
